// Packer: the arrays of a micro-batch say what the examples said, whatever the packing.
#include "data/packer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/error.h"
#include "base/rng.h"

namespace bertrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Integers = std::vector<int64_t>;

const Schema kMaskedLm = {{"label", {DType::i32, Axis::example, {}}},
                          {"target_id", {DType::i32, Axis::target, {}}},
                          {"target_weight", {DType::f32, Axis::target, {}}}};

Example tiny(Integers ids, Integers segments, Integers positions, int64_t label) {
  Integers target_ids;
  std::vector<float> weights;
  for (int64_t p : positions) {
    target_ids.push_back(100 + p);
    weights.push_back(0.5f);
  }
  return {{"input_ids", std::move(ids)},
          {"segment_ids", std::move(segments)},
          {"target_positions", positions},
          {"target_id", target_ids},
          {"target_weight", weights},
          {"label", Integers{label}},
          {"id", std::vector<std::string>{"row " + std::to_string(label)}}};
}

TEST(Packer, FillsEveryArray) {
  std::vector<Example> examples = {tiny({2, 7, 3}, {0, 0, 1}, {1}, 4),
                                   tiny({2, 3}, {0, 0}, {0, 1}, 5)};
  PackOptions options;
  options.capacities = {{1, 8, 3, 4}};
  options.keep_notes = true;
  std::vector<Batch> batches = pack(examples, kMaskedLm, options, 40);
  ASSERT_EQ(batches.size(), 1u);
  Batch& b = batches[0];
  EXPECT_EQ(b.arrays["input_ids"].type.shape, (Shape{1, 8}));
  EXPECT_THAT(b.arrays["input_ids"].as<int32_t>(), ElementsAre(2, 7, 3, 2, 3, 0, 0, 0));
  EXPECT_THAT(b.arrays["segment_ids"].as<int32_t>(), ElementsAre(0, 0, 1, 0, 0, 0, 0, 0));
  EXPECT_THAT(b.arrays["position"].as<int32_t>(), ElementsAre(0, 1, 2, 0, 1, 0, 0, 0));
  EXPECT_THAT(b.arrays["example"].as<int32_t>(), ElementsAre(0, 0, 0, 1, 1, -1, -1, -1));
  EXPECT_THAT(b.arrays["is_key"].as<int32_t>(), ElementsAre(1, 1, 1, 1, 1, 0, 0, 0));
  EXPECT_THAT(b.arrays["number"].as<uint32_t>(), ElementsAre(0, 0, 0, 1, 1, 0, 0, 0));
  EXPECT_THAT(b.arrays["first_slot"].as<int32_t>(), ElementsAre(0, 3, 0));
  EXPECT_THAT(b.arrays["example_number"].as<uint32_t>(), ElementsAre(0, 1, 0));
  EXPECT_THAT(b.arrays["example_weight"].as<float>(), ElementsAre(1, 1, 0));
  EXPECT_THAT(b.arrays["label"].as<int32_t>(), ElementsAre(4, 5, 0));
  EXPECT_THAT(b.arrays["target_slot"].as<int32_t>(), ElementsAre(1, 3, 4, 0));
  EXPECT_THAT(b.arrays["target_id"].as<int32_t>(), ElementsAre(101, 100, 101, 0));
  EXPECT_THAT(b.arrays["target_weight"].as<float>(), ElementsAre(0.5f, 0.5f, 0.5f, 0));
  EXPECT_THAT(b.row, ElementsAre(40, 41));
  EXPECT_EQ(b.tokens, 5);
  ASSERT_EQ(b.notes.size(), 2u);
  EXPECT_EQ(b.notes[1].size(), 1u);
  EXPECT_THAT(strings(b.notes[1], "id"), ElementsAre("row 5"));
  EXPECT_EQ(b.arrays.size(), 13u);
}

TEST(Packer, PaddedExamplesOwnTheirPadding) {
  std::vector<Example> examples = {tiny({2, 7, 3}, {0, 0, 1}, {1}, 4), tiny({2, 3}, {0, 1}, {}, 5)};
  PackOptions options;
  options.capacities = {{1, 10, 2, 4}};
  options.padded_length = 4;
  Batch b = pack(examples, kMaskedLm, options, 0).at(0);
  EXPECT_THAT(b.arrays["input_ids"].as<int32_t>(), ElementsAre(2, 7, 3, 0, 2, 3, 0, 0, 0, 0));
  EXPECT_THAT(b.arrays["position"].as<int32_t>(), ElementsAre(0, 1, 2, 3, 0, 1, 2, 3, 0, 0));
  EXPECT_THAT(b.arrays["example"].as<int32_t>(), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1, -1, -1));
  EXPECT_THAT(b.arrays["is_key"].as<int32_t>(), ElementsAre(1, 1, 1, 0, 1, 1, 0, 0, 0, 0));
  EXPECT_THAT(b.arrays["first_slot"].as<int32_t>(), ElementsAre(0, 4));
  EXPECT_EQ(b.tokens, 5);
  options.padding_is_key = true;
  b = pack(examples, kMaskedLm, options, 0).at(0);
  EXPECT_THAT(b.arrays["is_key"].as<int32_t>(), ElementsAre(1, 1, 1, 1, 1, 1, 1, 1, 0, 0));
}

TEST(Packer, FieldsWithMoreThanOneValueAndSlotFields) {
  Schema schema = {{"tags", {DType::i32, Axis::slot, {}}},
                   {"labels", {DType::f32, Axis::example, {2}}}};
  std::vector<Example> examples = {{{"input_ids", Integers{2, 3}},
                                    {"segment_ids", Integers{0, 0}},
                                    {"tags", Integers{8, 9}},
                                    {"labels", Integers{1, 0}}},
                                   {{"input_ids", Integers{4}},
                                    {"segment_ids", Integers{0}},
                                    {"tags", Integers{7}},
                                    {"labels", std::vector<float>{0.25f, 0.75f}}}};
  PackOptions options;
  options.capacities = {{2, 2, 2, 0}};
  Batch b = pack(examples, schema, options, 0).at(0);
  EXPECT_EQ(b.arrays["tags"].type.shape, (Shape{2, 2}));
  EXPECT_THAT(b.arrays["tags"].as<int32_t>(), ElementsAre(8, 9, 7, 0));
  EXPECT_EQ(b.arrays["labels"].type.shape, (Shape{2, 2}));
  EXPECT_THAT(b.arrays["labels"].as<float>(), ElementsAre(1, 0, 0.25f, 0.75f));
  EXPECT_FALSE(b.arrays.contains("target_slot"));
}

// What one example is, read back from the arrays.
struct Seen {
  Integers ids, positions, targets;
  int64_t label = 0, row = 0;
  bool operator==(const Seen&) const = default;
};

std::map<uint32_t, Seen> read_back(const std::vector<Batch>& batches) {
  std::map<uint32_t, Seen> seen;
  for (const Batch& b : batches) {
    auto example = b.arrays.at("example").as<int32_t>();
    auto number = b.arrays.at("example_number").as<uint32_t>();
    for (size_t e = 0; e < b.row.size(); ++e) {
      Seen& s = seen[number[e]];
      s.label = b.arrays.at("label").as<int32_t>()[e];
      s.row = b.row[e];
      EXPECT_EQ(example[static_cast<size_t>(b.arrays.at("first_slot").as<int32_t>()[e])],
                static_cast<int32_t>(e));
    }
    for (size_t slot = 0; slot < example.size(); ++slot) {
      if (example[slot] < 0) continue;
      Seen& s = seen[number[static_cast<size_t>(example[slot])]];
      s.ids.push_back(b.arrays.at("input_ids").as<int32_t>()[slot]);
      s.positions.push_back(b.arrays.at("position").as<int32_t>()[slot]);
      EXPECT_EQ(b.arrays.at("number").as<uint32_t>()[slot],
                number[static_cast<size_t>(example[slot])]);
    }
    auto weights = b.arrays.at("target_weight").as<float>();
    for (size_t t = 0; t < weights.size(); ++t) {
      if (weights[t] == 0) continue;
      auto slot = static_cast<size_t>(b.arrays.at("target_slot").as<int32_t>()[t]);
      seen[number[static_cast<size_t>(example[slot])]].targets.push_back(
          b.arrays.at("target_id").as<int32_t>()[t]);
    }
  }
  return seen;
}

std::vector<Example> random_examples(uint64_t seed, int64_t count, uint64_t longest) {
  std::vector<Example> examples;
  for (int64_t i = 0; i < count; ++i) {
    Block key = key_of(seed, "example", static_cast<uint32_t>(i));
    size_t length = 1 + below(key, 0, longest);
    Integers ids, segments, positions;
    for (size_t p = 0; p < length; ++p) {
      ids.push_back(static_cast<int64_t>(below(key, 10 + p, 1000)));
      segments.push_back(p > length / 2);
      if (below(key, 5000 + p, 8) == 0) positions.push_back(static_cast<int64_t>(p));
    }
    examples.push_back(tiny(ids, segments, positions, i));
  }
  return examples;
}

TEST(Packer, NumbersAndContentsDoNotDependOnThePacking) {
  std::vector<Example> examples = random_examples(7, 37, 30);
  PackOptions whole;
  whole.capacities = {{1, 2000, 40, 200}};
  std::map<uint32_t, Seen> want = read_back(pack(examples, kMaskedLm, whole, 0));
  ASSERT_EQ(want.size(), 37u);
  EXPECT_EQ(want[3].label, 3);
  for (Capacity capacity : {Capacity{1, 30, 9, 30}, Capacity{1, 100, 5, 40},
                            Capacity{4, 32, 40, 35}, Capacity{1, 31, 1, 31}}) {
    PackOptions options;
    options.capacities = {capacity};
    EXPECT_EQ(read_back(pack(examples, kMaskedLm, options, 0)), want);
  }
}

TEST(Packer, ReplicasShareTheExamplesAndSomeHaveNone) {
  std::vector<Example> examples = random_examples(7, 37, 30);
  PackOptions options;
  options.capacities = {{1, 2000, 40, 200}};
  std::map<uint32_t, Seen> want = read_back(pack(examples, kMaskedLm, options, 0));
  for (int64_t replicas : {2, 4}) {
    options.replicas = replicas;
    options.capacities = {{1, 60, 9, 30}};
    EXPECT_EQ(read_back(pack(examples, kMaskedLm, options, 0)), want);
  }
  std::vector<Batch> parts = pack(std::span(examples).first(3), kMaskedLm, options, 0);
  ASSERT_EQ(parts.size(), 4u);
  const Batch& empty = parts.back();
  EXPECT_TRUE(empty.row.empty());
  EXPECT_EQ(empty.tokens, 0);
  EXPECT_THAT(empty.arrays.at("example").as<int32_t>(), testing::Each(-1));
  for (const char* weight : {"example_weight", "target_weight"}) {
    EXPECT_THAT(empty.arrays.at(weight).as<float>(), testing::Each(0.0F));
  }
}

TEST(Packer, RanksNumberTheirExamplesWithinTheGlobalBatch) {
  std::vector<Example> examples = random_examples(9, 3, 5);
  PackOptions options;
  options.capacities = {{1, 100, 5, 40}};
  options.first_number = 1;
  options.number_step = 4;
  Batch b = pack(examples, kMaskedLm, options, 0).at(0);
  EXPECT_THAT(b.arrays["example_number"].as<uint32_t>(), ElementsAre(1, 5, 9, 0, 0));
}

TEST(Packer, BadExamplesAreNamedByTheirRow) {
  auto packing = [](Example bad) {
    return [bad] {
      PackOptions options;
      options.capacities = {{1, 8, 3, 2}};
      std::vector<Example> examples = {tiny({2, 3}, {0, 0}, {}, 0), bad};
      pack(examples, kMaskedLm, options, 100);
    };
  };
  auto refuses = [](std::string_view text) { return ThrowsMessage<Error>(HasSubstr(text)); };
  EXPECT_THAT(packing(tiny(Integers(9, 1), Integers(9, 0), {}, 1)),
              refuses("row 101 of the data (counted from 0): 9 tokens and 0 targets"));
  EXPECT_THAT(packing(tiny({1, 2, 3}, {0, 0, 0}, {0, 1, 2}, 1)), refuses("3 targets"));
  EXPECT_THAT(packing(tiny({1, 2}, {0}, {}, 1)), refuses("segment_ids has 1 values"));
  EXPECT_THAT(packing(tiny({1, 2}, {0, 0}, {2}, 1)), refuses("position 2 of an example of 2"));
  Example without = tiny({1, 2}, {0, 0}, {}, 1);
  without.erase("label");
  EXPECT_THAT(packing(without), refuses("label is missing"));
  Example wide = tiny({1, 2}, {0, 0}, {}, 1);
  wide["label"] = Integers{int64_t{1} << 40};
  EXPECT_THAT(packing(wide), refuses("does not fit i32"));
  Example placed = tiny(Integers(9, 1), Integers(9, 0), {}, 1);
  placed["row"] = Integers{7};
  EXPECT_THAT(packing(placed), refuses("row 7 of the data"));
}

TEST(Batches, RunOverTheEndsOfPassesAndSkipWhole) {
  auto make = [] {
    PackOptions options;
    options.capacities = {{1, 400, 8, 80}};
    ExampleStream endless =
        repeat([](uint64_t) { return from_vector(random_examples(5, 10, 12)); });
    return batches(std::move(endless), kMaskedLm, 4, options);
  };
  auto labels = [](const std::vector<Batch>& batch) {
    std::vector<int64_t> all;
    for (const auto& [number, seen] : read_back(batch)) all.push_back(seen.label);
    return all;
  };
  BatchStream stream = make();
  stream->next();
  stream->next();
  EXPECT_EQ(labels(*stream->next()), (Integers{8, 9, 0, 1}));
  BatchStream later = make();
  EXPECT_EQ(later->skip(2), 2u);
  auto batch = later->next();
  EXPECT_EQ(labels(*batch), (Integers{8, 9, 0, 1}));
  EXPECT_THAT(batch->at(0).row, ElementsAre(8, 9, 10, 11));
}

TEST(Batches, MoreThanThereIsAndTheLastPart) {
  PackOptions options;
  options.capacities = {{1, 400, 32, 80}};
  BatchStream large = batches(from_vector(random_examples(5, 10, 12)), kMaskedLm, 32, options);
  EXPECT_EQ(large->next()->at(0).row.size(), 10u);
  EXPECT_FALSE(large->next());
  BatchStream parts = batches(from_vector(random_examples(5, 10, 12)), kMaskedLm, 4, options);
  EXPECT_EQ(parts->skip(2), 2u);
  EXPECT_EQ(parts->next()->at(0).row.size(), 2u);
  EXPECT_FALSE(parts->next());
  BatchStream ended = batches(from_vector(random_examples(5, 10, 12)), kMaskedLm, 4, options);
  EXPECT_EQ(ended->skip(9), 3u);
  EXPECT_FALSE(ended->next());
  EXPECT_THROW(batches(from_vector({}), kMaskedLm, 0, options), Error);
}

TEST(Batches, WasteIsMeasured) {
  PackOptions options;
  options.capacities = {{1, 10, 4, 4}};
  Waste waste;
  EXPECT_EQ(waste.share(), 0);
  for (const Batch& b :
       pack(std::vector<Example>{tiny({2, 3}, {0, 0}, {}, 0)}, kMaskedLm, options, 0)) {
    waste.add(b);
  }
  EXPECT_DOUBLE_EQ(waste.share(), 0.8);
}

}  // namespace
}  // namespace bertrain
