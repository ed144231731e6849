// Event files: tensorflow.Event messages, each framed as a TFRecord.
#include "metrics/tensorboard.h"

#include <unistd.h>

#include <atomic>
#include <chrono>

#include "base/error.h"
#include "base/machine.h"
#include "formats/tfrecord.h"
#include "formats/wire.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

// tensorflow.Event
constexpr uint32_t kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7;
// tensorflow.Summary, its Value, and tensorflow.SessionLog
constexpr uint32_t kValue = 1, kTag = 1, kSimpleValue = 2, kStatus = 1;
constexpr uint64_t kStart = 1;  // SessionLog.START: what earlier files say of this step on is void

double wall_seconds() {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

WireWriter event_of(int64_t step) {
  WireWriter event;
  event.f64(kWallTime, wall_seconds());
  if (step != 0) event.varint(kStep, static_cast<uint64_t>(step));
  return event;
}

}  // namespace

EventWriter::EventWriter(std::string_view directory, int64_t first_step, uint64_t roll_bytes)
    : directory_(directory), roll_bytes_(roll_bytes) {
  open();
  if (first_step > 0) {
    WireWriter log, event = event_of(first_step + 1);
    log.varint(kStatus, kStart);
    event.bytes(kSessionLog, log.message());
    write(event.message());
  }
}

void EventWriter::open() {
  // Readers take the files of a directory in the order of their names: time first, then a count.
  static std::atomic<int> count{0};
  std::string name =
      fmt::format("events.out.tfevents.{:010}.{}.{}.{:04}", static_cast<int64_t>(wall_seconds()),
                  host_name(), ::getpid(), count++);
  file_ = open_growing_file(join_path(directory_, name));
  bytes_ = 0;
  WireWriter event = event_of(0);
  event.bytes(kFileVersion, "brain.Event:2");
  write(event.message());
}

void EventWriter::write(std::string_view event) {
  std::string frame = frame_record(event);
  file_->append(frame);
  bytes_ += frame.size();
}

void EventWriter::add(int64_t step, const Named<double>& scalars) {
  if (bytes_ > roll_bytes_) {
    file_->flush();
    open();
  }
  WireWriter summary, event = event_of(step);
  for (const auto& [tag, number] : scalars) {
    WireWriter value;
    value.bytes(kTag, tag);
    value.f32(kSimpleValue, static_cast<float>(number));
    summary.bytes(kValue, value.message());
  }
  event.bytes(kSummary, summary.message());
  write(event.message());
}

void EventWriter::flush() { file_->flush(); }

}  // namespace bertrain
