// What share of the slots of a device with short rows holds no token, for batches of a table's texts. Usage:
// waste_bench TABLE VOCABULARY [MAX_SEQ_LENGTH [TEXT COLUMN [LABEL COLUMN]]]
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/rng.h"
#include "data/packer.h"
#include "data/placement/capacity_choice.h"
#include "task/table/classification.h"
#include "text/vocabulary.h"

namespace bertrain {
namespace {

std::vector<ExampleSize> sizes_of(int argc, char** argv, int64_t longest) {
  ClassificationOptions options;
  options.train_file = argv[1];
  options.dev_fraction = 0;
  options.max_seq_length = longest;
  options.text_column = argc > 4 ? argv[4] : "text";
  options.label_column = argc > 5 ? argv[5] : "section";
  BertConfig config;
  config.max_position_embeddings = 512;
  auto tokenizer = std::make_shared<Tokenizer>(Vocabulary::read(argv[2]));
  auto task = make_classification("classification", options, config, tokenizer, nullptr);
  ExampleStream examples = task->examples("train");
  return sample_sizes(*examples, SIZE_MAX);
}

struct Measured {
  double waste = 0;
  int64_t batches = 0;
  std::set<std::pair<int64_t, int64_t>> met;  // rows and slots of the programs
};

// A pass over the examples in another order.
Measured measure(std::vector<ExampleSize> sizes, int64_t longest, int64_t batch, int64_t replicas) {
  CapacityNeeds needs;
  needs.sample.assign(sizes.begin(), sizes.begin() + std::min<int64_t>(2000, std::ssize(sizes)));
  needs.batch_size = batch;
  needs.replicas = replicas;
  needs.longest = needs.row_slots = longest;
  std::vector<Capacity> capacities = choose_capacities(needs);
  Block key = key_of(1, "waste_bench", 0);
  for (size_t i = sizes.size(); i > 1; --i) std::swap(sizes[i - 1], sizes[below(key, i, i)]);
  Measured m;
  double tokens = 0, slots = 0;
  auto width = static_cast<size_t>(batch);
  for (size_t first = 0; first + width <= sizes.size(); first += width, ++m.batches) {
    auto members = std::span(sizes).subspan(first, width);
    auto placed = place(members, capacities, replicas);
    for (const ExampleSize& size : members) tokens += static_cast<double>(size.slots);
    for (const MicroBatch& part : placed) {
      slots += static_cast<double>(part.capacity.rows * part.capacity.slots);
      m.met.emplace(part.capacity.rows, part.capacity.slots);
    }
  }
  m.waste = 1 - tokens / slots;
  return m;
}

}  // namespace
}  // namespace bertrain

int main(int argc, char** argv) {
  using namespace bertrain;
  if (argc < 3) {
    fmt::print(
        stderr,
        "usage: waste_bench TABLE VOCABULARY [MAX_SEQ_LENGTH [TEXT COLUMN [LABEL COLUMN]]]\n");
    return 2;
  }
  int64_t longest = argc > 3 ? std::stoll(argv[3]) : 128;
  std::vector<ExampleSize> sizes = sizes_of(argc, argv, longest);
  for (int64_t replicas : {1, 2, 4}) {
    for (int64_t batch : {32, 64, 128, 256}) {
      Measured m = measure(sizes, longest, batch, replicas);
      std::string met;
      for (auto [rows, slots] : m.met) met += fmt::format(" {} x {}", rows, slots);
      fmt::print("{} replicas, {} a batch: {:.1f} % of {} batches, programs{}\n", replicas, batch,
                 100 * m.waste, m.batches, met);
    }
  }
}
