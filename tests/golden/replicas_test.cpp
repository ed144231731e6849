// Replicas of a process share each batch: the same step and the same results as on one.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/error.h"
#include "data/placement/capacity_choice.h"
#include "storage/storage.h"
#include "task/table/classification.h"
#include "tiny_bert.h"
#include "train/evaluate.h"

namespace bertrain {
namespace {

constexpr int kCounts[] = {1, 2, 4};

class Replicas : public testing::TestWithParam<std::string> {
 protected:
  Replicas() : golden(GetParam()) {
    golden.config.hidden_dropout_prob = 0.1;
    golden.config.attention_probs_dropout_prob = 0.2;
  }

  struct Run {
    std::vector<StepResult> results;
    Named<Array> state;
    size_t parts = 0;  // micro-batches of a step
  };
  // Three steps on the golden's examples; with `slots`, in micro-batches of one example and so many
  // slots.
  Run train(int replicas, int64_t slots, bool short_rows = false) {
    return train_on(make_reference_backend(replicas, short_rows), slots);
  }

  Run train_on(std::unique_ptr<Backend> backend, int64_t slots) {
    int replicas = backend->replicas();
    auto task = golden.task();
    StepOptions options = golden.step_options();
    auto state = make_state(golden, *task, *backend, options.optimizer.get());
    StepRunner runner(*task, *state, options);
    std::vector<Example> examples = golden.examples();
    CapacityNeeds needs;
    for (const Example& example : examples) {
      needs.sample.push_back({std::ssize(integers(example, "input_ids")), task->max_targets() / 2});
    }
    needs.batch_size = std::ssize(examples);
    needs.longest = kGoldenLength;
    needs.most_targets = task->max_targets();
    needs.budget = slots;
    needs.row_slots = backend->row_slots(kGoldenLength);
    needs.replicas = replicas;
    PackOptions packing;
    packing.capacities = choose_capacities(needs);
    packing.replicas = replicas;
    if (slots > 0) {
      for (Capacity& capacity : packing.capacities) capacity.examples = 1;
    }
    std::vector<Batch> micro = pack(examples, task->schema(), packing, 0);
    Run run;
    run.parts = micro.size();
    for (uint64_t step = 1; step < 4; ++step) run.results.push_back(runner.run(step, micro));
    run.state = state->snapshot();
    return run;
  }

  // f32 sums of another device, in another order.
  static constexpr double kExact = 1e-6, kDevice = 1e-5;

  static void expect_same(const Run& got, const Run& want, double within = kExact) {
    for (size_t i = 0; i < want.results.size(); ++i) {
      const StepResult &a = got.results[i], &b = want.results[i];
      EXPECT_NEAR(a.loss, b.loss, within * b.loss) << "step " << i;
      EXPECT_NEAR(a.gradient_norm, b.gradient_norm, within * b.gradient_norm) << "step " << i;
      for (const auto& [term, loss] : b.losses) EXPECT_NEAR(a.losses.at(term), loss, within * loss);
    }
    for (const auto& [name, value] : want.state) {
      if (is_key_bias(name)) continue;
      EXPECT_LE(difference(got.state.at(name), value), within) << name;
    }
  }

  Golden golden;
};

TEST_P(Replicas, TakeTheSameSteps) {
  Run one = train(1, 0);
  EXPECT_EQ(one.parts, 1U);
  for (int replicas : {2, 4}) {
    Run more = train(replicas, 0);
    EXPECT_EQ(more.parts, static_cast<size_t>(replicas));
    expect_same(more, one);
  }
}

TEST_P(Replicas, TakeTheSameStepsInParts) {
  Run one = train(1, 0);
  for (int replicas : kCounts) {
    Run parts = train(replicas, kGoldenLength);
    EXPECT_EQ(parts.parts, replicas == 4 ? 8U : 6U);  // two of the eight are empty
    expect_same(parts, one);
  }
}

TEST_P(Replicas, TakeTheSameStepsOnManyRows) {
  Run one = train(1, 0);
  for (int replicas : {1, 2}) {
    expect_same(train(replicas, 0, true), one);
    expect_same(train(replicas, 2 * kGoldenLength, true), one);
  }
}

TEST_P(Replicas, OfAPluginTakeTheSameSteps) {
  if (!plugin_with(1)) GTEST_SKIP() << kNoPlugin;
  Run one = train(1, 0);
  for (int replicas : kCounts) expect_same(train_on(plugin_with(replicas), 0), one, kDevice);
}

INSTANTIATE_TEST_SUITE_P(Tasks, Replicas, testing::Values("tf1_pretrain", "tf1_classify"),
                         [](const auto& info) { return info.param; });

// Results of `count` rows in batches of four.
struct Scored {
  std::vector<std::vector<float>> probabilities;
  Json scores;
};
Scored score(std::unique_ptr<Backend> backend, int64_t count) {
  Golden golden("tf1_classify");
  ClassificationOptions options;
  options.train_file = "mem://replicas/train.tsv";
  options.dev_file = "mem://replicas/dev.tsv";
  write_text(options.train_file, "label\ttext\n0\ta\n1\tb\n2\tc\n");
  std::string table = "label\ttext\n";
  for (int64_t row = 0; row < count; ++row) {
    table += fmt::format("{}\t", row % 3);
    for (int64_t word = 0; word <= row * 5 % 11; ++word) table += (word + row) % 3 ? "a b " : "c ";
    table += "\n";
  }
  write_text(options.dev_file, table);
  options.max_seq_length = kGoldenLength;
  std::vector<std::string> pieces = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c"};
  auto task = make_classification("classification", options, golden.config,
                                  std::make_shared<Tokenizer>(Vocabulary(pieces)), nullptr);
  State state(*backend, parameters_of(*task));
  state.initialise(3);
  EvaluationRunner runner(*task, state);
  EvaluationSize size;
  size.choice.batch_size = 4;
  size.flag = "eval_batch_size";
  EvaluateOptions evaluation = evaluation_of(*task, *backend, runner, "dev", size);
  Scored scored;
  EvaluationResult result = evaluate(*task, runner, evaluation, true, [&](const Example& row) {
    scored.probabilities.push_back(floats(row, "probabilities"));
  });
  EXPECT_EQ(result.rows, static_cast<uint64_t>(count));
  scored.scores = result.scores;
  return scored;
}

// As one replica of plain loops scores them.
void expect_every_row(const std::function<std::unique_ptr<Backend>(int)>& make, int64_t count,
                      double within) {
  Scored one = score(make_reference_backend(), count);
  ASSERT_EQ(std::ssize(one.probabilities), count);
  for (int replicas : {2, 4}) {
    Scored more = score(make(replicas), count);
    ASSERT_EQ(more.probabilities.size(), one.probabilities.size());
    for (size_t row = 0; row < one.probabilities.size(); ++row) {
      for (size_t c = 0; c < 3; ++c) {
        EXPECT_NEAR(more.probabilities[row][c], one.probabilities[row][c], within)
            << "row " << row << " of " << count << " on " << replicas;
      }
    }
    EXPECT_EQ(more.scores.at("eval_accuracy"), one.scores.at("eval_accuracy"));
    EXPECT_NEAR(more.scores.at("eval_loss").get<double>(), one.scores.at("eval_loss").get<double>(),
                within);
  }
}

TEST(ReplicasEvaluate, EveryRowOnceAndInOrder) {
  auto make = [](int replicas) { return make_reference_backend(replicas, replicas == 2); };
  for (int64_t count : {1, 3, 4, 5, 9}) expect_every_row(make, count, 1e-6);
}

TEST(ReplicasEvaluate, EveryRowOnceAndInOrderOnAPlugin) {
  if (!plugin_with(1)) GTEST_SKIP() << kNoPlugin;
  for (int64_t count : {1, 5}) expect_every_row(plugin_with, count, 1e-5);
}

}  // namespace
}  // namespace bertrain
