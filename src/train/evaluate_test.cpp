// Which splits are scored while training, and what their scores are called.
#include "train/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bertrain {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(DevSplits, AreThoseThatAreCalledSo) {
  EXPECT_THAT(dev_splits({"train", "dev", "test"}), ElementsAre("dev"));
  EXPECT_THAT(dev_splits({"train", "test", "devices"}), IsEmpty());
  EXPECT_THAT(dev_splits({"train", "dev_matched", "dev_mismatched", "test"}),
              ElementsAre("dev_matched", "dev_mismatched"));
}

TEST(DevSplits, TheFirstNamesTheScores) {
  auto scores = [](const std::string& split) {
    return Json{{"eval_accuracy", split.size()}, {"eval_loss", 0.5}};
  };
  EXPECT_EQ(scores_of_splits({"dev"}, scores), (Json{{"eval_accuracy", 3}, {"eval_loss", 0.5}}));
  EXPECT_EQ(scores_of_splits({"dev_matched", "dev_mismatched"}, scores),
            (Json{{"eval_accuracy", 11},
                  {"eval_loss", 0.5},
                  {"mismatched_eval_accuracy", 14},
                  {"mismatched_eval_loss", 0.5}}));
  EXPECT_EQ(scores_of_splits({}, scores), Json::object());
}

}  // namespace
}  // namespace bertrain
