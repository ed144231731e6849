// Passes over a split, shuffled, joined or cut, as batches.
#include "train/training_stream.h"

#include <utility>

#include "base/error.h"
#include "data/prefetch.h"
#include "data/shuffle.h"

namespace bertrain {
namespace {

// Batches of pass 0, then of pass 1, … none of which crosses a pass's end.
class BatchesByPass final : public Stream<std::vector<Batch>> {
 public:
  explicit BatchesByPass(std::function<BatchStream(uint64_t pass)> make) : make_(std::move(make)) {}

  std::optional<std::vector<Batch>> next() override {
    while (true) {
      if (!current_) current_ = make_(pass_);
      if (auto batch = current_->next()) {
        ++taken_;
        return batch;
      }
      end_pass();
    }
  }

  uint64_t skip(uint64_t count) override {
    uint64_t left = count;
    while (left > 0) {
      if (!current_ && length_ > 0 && left >= length_) {
        pass_ += left / length_;
        left %= length_;
        continue;
      }
      if (!current_) current_ = make_(pass_);
      uint64_t skipped = current_->skip(left);
      taken_ += skipped;
      left -= skipped;
      if (left > 0) end_pass();
    }
    return count;
  }

 private:
  void end_pass() {
    if (taken_ == 0) throw error("there is nothing to train on: the data are empty");
    length_ = taken_;
    taken_ = 0;
    current_.reset();
    ++pass_;
  }

  std::function<BatchStream(uint64_t)> make_;
  uint64_t pass_ = 0;
  uint64_t taken_ = 0;   // of the current pass
  uint64_t length_ = 0;  // of every pass, once one has ended
  BatchStream current_;
};

}  // namespace

BatchStream training_batches(const Task& task, const TrainingStreamOptions& options,
                             uint64_t first_step) {
  auto pass = [&task, options](uint64_t number) {
    auto buffer = static_cast<uint64_t>(options.shuffle_buffer);
    return shuffle(task.examples(options.split), buffer, options.seed, number);
  };
  BatchStream stream;
  if (options.cut_at_pass_ends) {
    stream = std::make_unique<BatchesByPass>([&task, options, pass](uint64_t number) {
      return batches(pass(number), task.schema(), options.batch_size, options.pack);
    });
  } else {
    stream = batches(repeat(pass), task.schema(), options.batch_size, options.pack);
  }
  stream->skip(first_step);
  // Two batches ahead: one being packed while one waits.
  return prefetch(std::move(stream), 2);
}

}  // namespace bertrain
