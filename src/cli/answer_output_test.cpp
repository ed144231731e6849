// How the files beside the answers are named.
#include "cli/answer_output.h"

#include <gtest/gtest.h>

namespace bertrain {
namespace {

TEST(AnswerFiles, StandBesideTheAnswers) {
  auto expect = [](const char* given, const char* n_best, const char* odds) {
    AnswerFiles files = answer_files(given);
    EXPECT_EQ(files.predictions, given);
    EXPECT_EQ(files.n_best, n_best);
    EXPECT_EQ(files.null_odds, odds);
  };
  expect("out/predictions.json", "out/nbest_predictions.json", "out/null_odds.json");
  expect("dev_predictions.json", "nbest_dev_predictions.json", "dev_null_odds.json");
  expect("predictions/a.json", "predictions/nbest_a.json", "predictions/null_odds_a.json");
  expect("-", "", "");
  expect("/dev/null", "", "");
}

}  // namespace
}  // namespace bertrain
