// Multiple choice as a task: splits, what is kept with a model and taken from it, what is refused.
#include "task/choice/choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/log.h"
#include "storage/storage.h"
#include "task/tiny_config.h"

namespace bertrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;

constexpr const char *kTrain = "mem://choice/train.csv", *kDev = "mem://choice/dev.csv",
                     *kTest = "mem://choice/test.csv";

std::unique_ptr<Task> make(const ChoiceOptions& options, const Json* description = nullptr,
                           const BertConfig& config = tiny_config(8, 32)) {
  auto tokenizer = std::make_shared<Tokenizer>(
      Vocabulary({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c"}, "toy"));
  return make_choice(options, config, tokenizer, description);
}

ChoiceOptions trained_on(const std::string& text) {
  write_text(kTrain, text);
  ChoiceOptions o;
  o.table.train_file = kTrain;
  o.table.dev_fraction = 0;
  return o;
}

std::string fault(const ChoiceOptions& options, ExitCode code) {
  try {
    make(options);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    return e.what();
  }
  return "nothing";
}

TEST(Choice, FilesMayHaveOtherNumbersOfChoices) {
  ChoiceOptions o = trained_on("sent1,ending0,ending1,label\na,b,c,1\n");
  write_text(kDev, "sent1,ending0,ending1,ending2,label\na,b,c,b,2\n");
  write_text(kTest, "sent1,ending0,ending1\na,b,c\nb,b,b\n");
  o.table.dev_file = kDev;
  o.table.test_file = kTest;
  auto task = make(o);
  EXPECT_THAT(task->splits(), ElementsAre("train", "dev", "test"));
  EXPECT_EQ(task->count("train"), 1u);
  for (const auto& [split, rows] : {std::pair("train", 1u), {"dev", 1u}, {"test", 2u}}) {
    std::vector<Example> examples = rest_of(*task->examples(split));
    EXPECT_EQ(examples.size(), rows);
    EXPECT_EQ(floats(examples[0], "choice_there").size(), 3u);
  }
  // A file to predict is read again.
  EXPECT_EQ(rest_of(*task->examples("test")).size(), 2u);
  EXPECT_EQ(task->describe()["labels"].size(), 3u);
}

TEST(Choice, AModelKnowsItsFile) {
  ChoiceOptions o = trained_on("a,b,c,1,x\nb,c,a,0,y\n");
  o.table.header = false;
  o.table.text_column = "1";
  o.table.label_column = "4";
  o.table.id_column = "5";
  o.choice_columns = "2,3";
  Json description = make(o)->describe();
  EXPECT_EQ(description["header"], Json(false));
  ChoiceOptions scored;
  scored.table.dev_file = kTrain;
  std::vector<Example> dev = rest_of(*make(scored, &description)->examples("dev"));
  ASSERT_EQ(dev.size(), 2u);
  EXPECT_THAT(strings(dev[0], "id"), ElementsAre("x"));
  // What is said stands over what was found.
  write_text(kDev, "q,p,c,y\nb,a,c,1\n");
  scored.table.dev_file = kDev;
  scored.table.header = true;
  scored.table.text_column = "c";
  scored.table.label_column = scored.table.id_column = "y";
  scored.choice_columns = "p,q";
  dev = rest_of(*make(scored, &description)->examples("dev"));
  ASSERT_EQ(dev.size(), 1u);
  EXPECT_THAT(integers(dev[0], "input_ids"), ElementsAre(2, 7, 3, 5, 3, 2, 7, 3, 6, 3));
}

TEST(Choice, SaysWhenNothingIsHeldOut) {
  ChoiceOptions o = trained_on("sent1,ending0,ending1,label\na,b,c,1\n");
  o.table.dev_fraction = 0.01;
  std::vector<std::string> lines;
  LogSink sink([&](std::string_view line) { lines.emplace_back(line); });
  EXPECT_THAT(make(o)->splits(), ElementsAre("train"));
  EXPECT_THAT(lines, IsSupersetOf({"warning: " + std::string(kTrain) +
                                   ": no row of so few was held out, so nothing is evaluated "
                                   "while training"}));
}

TEST(Choice, SaysWhatCannotBe) {
  ChoiceOptions o = trained_on("sent1,ending0,ending1,label\n");
  EXPECT_THAT(fault(o, ExitCode::failed), HasSubstr("train.csv: there is no row to train on"));
  o = trained_on("sent1,ending0,ending1,label\na,b,c,1\n");
  o.table.train_fraction = 1e-6;
  EXPECT_THAT(fault(o, ExitCode::usage),
              HasSubstr("train.csv: no row is left to train on: --dev_fraction=0 holds out 0, and "
                        "--train_fraction=1e-06 leaves out 1"));
  o = trained_on("sent1,ending0,ending1,label\na,b,c,1\n");
  write_text(kDev, "sent1,ending0,ending1,label\n");
  o.table.dev_file = kDev;
  EXPECT_THAT(fault(o, ExitCode::failed), HasSubstr("dev.csv: there is no row to evaluate on"));
  o.table.dev_file = "";
  o.table.max_seq_length = 33;
  EXPECT_THAT(fault(o, ExitCode::usage), HasSubstr("beyond the model's 32 positions"));
}

}  // namespace
}  // namespace bertrain
