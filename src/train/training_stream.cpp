// Passes over a split, shuffled, joined or cut, as batches.
#include "train/training_stream.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "data/passes.h"
#include "data/prefetch.h"
#include "data/shuffle.h"
#include "train/signals.h"

namespace bertrain {

namespace {

class Stoppable final : public Stream<Example> {
 public:
  Stoppable(ExampleStream from, std::function<void(uint64_t)> on_read)
      : from_(std::move(from)), on_read_(std::move(on_read)) {}

  std::optional<Example> next() override {
    leave_if_stopped();
    if (on_read_) on_read_(1);
    return from_->next();
  }

  uint64_t skip(uint64_t count) override {
    constexpr uint64_t kPiece = 256;  // examples: some milliseconds of reading
    uint64_t done = 0;
    while (done < count) {
      leave_if_stopped();
      uint64_t piece = std::min(kPiece, count - done);
      uint64_t skipped = from_->skip(piece);
      done += skipped;
      if (on_read_) on_read_(skipped);
      if (skipped < piece) break;
    }
    return done;
  }

 private:
  ExampleStream from_;
  std::function<void(uint64_t)> on_read_;
};

// Says how far a start has read forward, where that takes long.
std::function<void(uint64_t)> tell_reading(uint64_t to, double silence) {
  return [=, done = uint64_t{0}, silent = Silence(silence, 30)](uint64_t examples) mutable {
    done += examples;
    if (!silent.is_long()) return;
    log_line("reading forward to record {}, where the training goes on: {} are read", to, done);
  };
}

}  // namespace

ExampleStream stoppable(ExampleStream examples, std::function<void(uint64_t)> on_read) {
  return std::make_unique<Stoppable>(std::move(examples), std::move(on_read));
}

uint64_t count_examples(const Task& task, std::string_view split, uint64_t most,
                        std::string_view what) {
  Silence silence(3, 30);
  uint64_t count = 0;
  auto tell = [&](uint64_t examples) {
    count += examples;
    if (silence.is_long()) log_line("counting {}: {} so far", what, count);
  };
  return stoppable(task.examples(split), tell)->skip(most);
}

BatchStream training_batches(const Task& task, const TrainingStreamOptions& asked,
                             uint64_t first_step) {
  TrainingStreamOptions options = asked;
  options.pack.padded_length = std::max(asked.pack.padded_length, task.padded_length());
  auto tell = std::make_shared<std::function<void(uint64_t)>>(
      tell_reading(first_step * static_cast<uint64_t>(options.batch_size), options.silence));
  auto pass = [&task, options, tell](uint64_t number) {
    auto buffer = static_cast<uint64_t>(options.shuffle_buffer);
    ExampleStream examples = buffer == 1 ? task.examples(options.split)
                                         : task.shuffled_files(options.split, options.seed, number);
    bool indexed = dynamic_cast<IndexedStream*>(examples.get()) != nullptr;
    // Below the shuffle, which skips whole blocks of its source; a table is not read to be skipped.
    if (!indexed)
      examples = stoppable(std::move(examples), [tell](uint64_t n) {
        if (*tell) (*tell)(n);
      });
    examples = shuffle(std::move(examples), buffer, options.seed, number);
    return indexed ? stoppable(std::move(examples)) : std::move(examples);
  };
  BatchStream stream;
  if (options.cut_at_pass_ends) {
    // No batch crosses the end of a pass.
    stream = std::make_unique<Passes<std::vector<Batch>>>([&task, options, pass](uint64_t number) {
      return batches(pass(number), task.schema(), options.batch_size, options.pack);
    });
  } else {
    stream = batches(repeat(pass), task.schema(), options.batch_size, options.pack);
  }
  stream->skip(first_step);
  *tell = nullptr;  // from now on what is read is trained on
  // Two batches ahead of the loop: one waits, beside the one that the thread packs. A third is the
  // loop's own, which sends it while the one before it is computed.
  return prefetch(std::move(stream), 1);
}

}  // namespace bertrain
