// Passes over a split, shuffled, joined or cut, as batches.
#include "train/training_stream.h"

#include <utility>

#include "data/passes.h"
#include "data/prefetch.h"
#include "data/shuffle.h"
#include "train/signals.h"

namespace bertrain {

ExampleStream stoppable(ExampleStream examples) {
  return transform(std::move(examples), [](Example example) {
    leave_if_stopped();
    return example;
  });
}

BatchStream training_batches(const Task& task, const TrainingStreamOptions& options,
                             uint64_t first_step) {
  auto pass = [&task, options](uint64_t number) {
    auto buffer = static_cast<uint64_t>(options.shuffle_buffer);
    ExampleStream examples = shuffle(task.examples(options.split), buffer, options.seed, number);
    return stoppable(std::move(examples));
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
  // Two batches ahead: one being packed while one waits.
  return prefetch(std::move(stream), 2);
}

}  // namespace bertrain
