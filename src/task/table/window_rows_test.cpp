// Rows of several windows: the mean of their predictions, once, in order, and its loss.
#include "task/table/window_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace bertrain {
namespace {

using testing::ElementsAre;
using testing::FloatEq;

struct Window {
  int64_t row, index, count;
  std::vector<float> predicted;
  float loss = 9;
};

// A batch of windows, as the packer and the model leave it.
void add(Rows& rows, const std::string& name, const Example& notes,
         const std::vector<Window>& windows) {
  Batch batch;
  std::vector<float> predicted, loss;
  for (const Window& window : windows) {
    batch.row.push_back(window.row);
    Example note = notes;
    if (window.count > 1) note["window"] = std::vector<int64_t>{window.index, window.count};
    batch.notes.push_back(std::move(note));
    predicted.insert(predicted.end(), window.predicted.begin(), window.predicted.end());
    loss.push_back(window.loss);
  }
  auto count = static_cast<int64_t>(windows.size());
  Shape shape = {count};
  if (name == "probabilities") shape.push_back(static_cast<int64_t>(windows[0].predicted.size()));
  Named<Array> predictions = {{name, make_array(shape, predicted)},
                              {"loss", make_array({count}, loss)}};
  if (name == "probabilities") {
    for (float& value : predicted) value *= 8;
    predictions.emplace("logits", make_array(shape, predicted));  // any, told apart by size
  }
  rows.add(batch, predictions);
}

std::shared_ptr<TextTarget> learnt(std::shared_ptr<TextTarget> target) {
  target->learn({"x", "y", "z"}, {"file", "label"});
  return target;
}

TEST(WindowRows, AreOneRowWithTheMeanInWhateverOrderTheyCome) {
  auto rows = make_window_rows(learnt(make_single_label({})));
  Example gold = {{"gold", std::vector<std::string>{"y"}}};
  add(*rows, "probabilities", gold,
      {{0, 2, 3, {0.5, 0.25, 0.25}},
       {1, 0, 1, {0.125, 0.125, 0.75}, 2},
       {0, 0, 3, {0.25, 0.5, 0.25}}});
  EXPECT_FALSE(rows->next().has_value());  // row 0 waits for a window, row 1 for row 0
  add(*rows, "probabilities", gold, {{0, 1, 3, {0, 0.75, 0.25}}});
  Example first = rows->next().value();
  EXPECT_THAT(floats(first, "probabilities"), ElementsAre(0.25F, 0.5F, 0.25F));
  EXPECT_THAT(floats(first, "logits"), ElementsAre(2, 4, 2));
  EXPECT_THAT(strings(first, "label"), ElementsAre("y"));
  EXPECT_THAT(floats(first, "loss"), ElementsAre(FloatEq(std::log(2.0F))));
  EXPECT_FALSE(first.contains("window"));
  Example second = rows->next().value();  // of one window: as it came
  EXPECT_THAT(strings(second, "label"), ElementsAre("z"));
  EXPECT_THAT(floats(second, "loss"), ElementsAre(2));
  EXPECT_FALSE(rows->next().has_value());
}

TEST(WindowRows, WithoutALabelHaveNoLoss) {
  auto rows = make_window_rows(learnt(make_single_label({})));
  add(*rows, "probabilities", {}, {{0, 0, 2, {0, 0, 1}}, {0, 1, 2, {0, 1, 0}}});
  Example row = rows->next().value();
  EXPECT_THAT(floats(row, "probabilities"), ElementsAre(0, 0.5F, 0.5F));
  EXPECT_FALSE(row.contains("loss"));
}

TEST(WindowRows, OfSeveralLabelsHaveTheMeanOfEach) {
  auto rows = make_window_rows(learnt(make_multi_label({})));
  Example gold = {{"gold", std::vector<std::string>{"x", "z"}}};
  add(*rows, "probabilities", gold, {{0, 0, 2, {1, 0.5, 0.25}}, {0, 1, 2, {0.5, 0.5, 0.25}}});
  Example row = rows->next().value();
  EXPECT_THAT(floats(row, "probabilities"), ElementsAre(0.75F, 0.5F, 0.25F));
  EXPECT_THAT(strings(row, "labels"), ElementsAre("x", "y"));
  float loss = -(std::log(0.75F) + std::log(0.5F) + std::log(0.25F)) / 3;
  EXPECT_THAT(floats(row, "loss"), ElementsAre(FloatEq(loss)));
}

TEST(WindowRows, OfNumbersHaveTheirMean) {
  auto rows = make_window_rows(make_regression({}));
  Example gold = {{"gold", std::vector<std::string>{"4"}}};
  add(*rows, "value", gold, {{0, 0, 2, {1}}, {0, 1, 2, {2}}});
  Example row = rows->next().value();
  EXPECT_THAT(floats(row, "value"), ElementsAre(1.5F));
  EXPECT_THAT(floats(row, "loss"), ElementsAre(6.25F));
}

// A label that all windows were sure not to have: a large loss, no infinity.
TEST(WindowRows, HaveAFiniteLoss) {
  auto rows = make_window_rows(learnt(make_single_label({})));
  Example gold = {{"gold", std::vector<std::string>{"x"}}};
  add(*rows, "probabilities", gold, {{0, 0, 2, {0, 0, 1}}, {0, 1, 2, {0, 1, 0}}});
  float loss = floats(rows->next().value(), "loss").at(0);
  EXPECT_TRUE(std::isfinite(loss));
  EXPECT_GT(loss, 80);
}

}  // namespace
}  // namespace bertrain
