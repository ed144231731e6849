// Event files that TensorBoard reads: scalars by tag and step. Format: docs/formats/events.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/array.h"
#include "metrics/growing_file.h"

namespace bertrain {

class EventWriter {
 public:
  // A new file events.out.tfevents.SECONDS.HOST.PID.N in the directory. With a `first_step` above 0
  // a restart is recorded, at which TensorBoard drops what earlier files say of later steps. A file
  // of more than `roll_bytes` is followed by another.
  EventWriter(std::string_view directory, int64_t first_step, uint64_t roll_bytes = 64 << 20);
  void add(int64_t step, const Named<double>& scalars);  // one event, in the file at once
  void flush();

 private:
  void open();
  void write(std::string_view event);

  std::string directory_;
  uint64_t roll_bytes_, bytes_ = 0;
  std::unique_ptr<GrowingFile> file_;
};

}  // namespace bertrain
