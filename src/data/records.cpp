// Instances to records to files.
#include "data/records.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/first_failure.h"
#include "base/log.h"
#include "formats/tfrecord.h"
#include "storage/gzip.h"

namespace bertrain {
namespace {

// Records encoded before they are appended: enough for all threads, and no more than about 64 MiB.
size_t batch_of(const RecordShape& shape) {
  auto bytes = static_cast<size_t>(4 * shape.max_seq_length + 8 * shape.max_predictions_per_seq);
  return std::clamp<size_t>((size_t{64} << 20) / bytes, 1, 8192);
}

}  // namespace

Example make_record(const Instances& instances, size_t index, const RecordShape& shape) {
  auto length = static_cast<size_t>(shape.max_seq_length);
  auto predictions = static_cast<size_t>(shape.max_predictions_per_seq);
  std::vector<int32_t> tokens;
  Instances::View view = instances.view(index, tokens);
  check(tokens.size() <= length && view.masked.size() <= predictions,
        "an instance fits its record");
  std::vector<int64_t> ids(tokens.begin(), tokens.end()), mask(tokens.size(), 1);
  std::vector<int64_t> segments(tokens.size(), 0), positions, labels;
  std::vector<float> weights(view.masked.size(), 1.0f);
  std::fill(segments.begin() + static_cast<ptrdiff_t>(view.a_size) + 2, segments.end(), 1);
  for (const MaskedToken& m : view.masked) {
    positions.push_back(m.position);
    labels.push_back(ids[m.position]);
    ids[m.position] = m.replacement;
  }
  for (auto* list : {&ids, &mask, &segments}) list->resize(length, 0);
  for (auto* list : {&positions, &labels}) list->resize(predictions, 0);
  weights.resize(predictions, 0.0f);
  Example record;
  record["input_ids"] = std::move(ids);
  record["input_mask"] = std::move(mask);
  record["segment_ids"] = std::move(segments);
  record["masked_lm_positions"] = std::move(positions);
  record["masked_lm_ids"] = std::move(labels);
  record["masked_lm_weights"] = std::move(weights);
  record["next_sentence_labels"] = std::vector<int64_t>{view.random_next};
  return record;
}

RecordFiles::RecordFiles(std::vector<std::string> uris, bool gzip) : uris_(std::move(uris)) {
  for (size_t i = 0; i < uris_.size(); ++i) {
    if (std::count(uris_.begin(), uris_.end(), uris_[i]) > 1) {
      throw usage_error("{}: named twice as an output", uris_[i]);
    }
    auto writer = storage_for(uris_[i]).create(uris_[i], Exists::replace);
    writers_.push_back(gzip ? pack_gzip(std::move(writer)) : std::move(writer));
  }
  check(!writers_.empty(), "records go to some file");
}

void RecordFiles::write(const Instances& instances, const RecordShape& shape) {
  if (instances.size() < uris_.size()) {
    throw error("{} instances are too few for {} output files: each must hold one at least",
                instances.size(), uris_.size());
  }
  auto shown = std::chrono::steady_clock::now();
  std::vector<std::string> frames(std::min(batch_of(shape), instances.size()));
  for (size_t start = 0; start < instances.size(); start += frames.size()) {
    size_t count = std::min(frames.size(), instances.size() - start);
    FirstFailure failure;
#pragma omp parallel for schedule(static, 64)
    for (size_t i = 0; i < count; ++i) {
      failure.run([&] {
        frames[i] = frame_record(serialize_example(make_record(instances, start + i, shape)));
      });
    }
    failure.rethrow();
    // Packing takes the time where there is any, so files are written side by side.
#pragma omp parallel for schedule(dynamic, 1)
    for (size_t file = 0; file < writers_.size(); ++file) {
      failure.run([&] {
        size_t first = (file + writers_.size() - start % writers_.size()) % writers_.size();
        for (size_t i = first; i < count; i += writers_.size()) {
          writers_[file]->append(std::as_bytes(std::span(frames[i])));
        }
      });
    }
    failure.rethrow();
    auto now = std::chrono::steady_clock::now();
    if (now - shown < std::chrono::seconds(10)) continue;
    shown = now;
    log_line("wrote {} of {} instances", start + count, instances.size());
  }
  commit();
}

void RecordFiles::commit() {
  // What is there already is replaced when all of the new is on the device.
  for (auto& writer : writers_) writer->settle();
  size_t done = 0;
  try {
    for (; done < writers_.size(); ++done) writers_[done]->commit();
  } catch (const Error&) {
    for (size_t i = 0; i < done; ++i) storage_for(uris_[i]).remove(uris_[i]);
    throw;
  }
}

}  // namespace bertrain
