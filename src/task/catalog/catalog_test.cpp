// Tasks by their names, and by what a model folder says of its own.
#include "task/catalog/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "task/tiny_config.h"

namespace bertrain {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

TaskOptions options() {
  TaskOptions options;
  options.config = tiny_config(100, 8);
  options.pretraining.max_seq_length = 8;
  options.pretraining.max_predictions_per_seq = 2;
  options.tokenizer = std::make_shared<Tokenizer>(
      Vocabulary({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}, "toy"));
  return options;
}

TEST(Catalog, NamesItsTasks) {
  EXPECT_THAT(task_names(), ElementsAre("pretraining", "classification", "multilabel", "regression",
                                        "squad", "tagging", "multiple_choice"));
  EXPECT_THAT([&] { make_task("ner", options()); },
              ThrowsMessage<Error>(AllOf(HasSubstr("'ner'"), HasSubstr("classification"))));
}

TEST(Catalog, MakesTheTaskThatIsDescribed) {
  EXPECT_EQ(make_task("pretraining", options())->terms().size(), 2u);
  Json masked_words = {{"task", "pretraining"}, {"next_sentence", false}};
  EXPECT_EQ(make_described_task(masked_words, options())->terms().size(), 1u);
  Json labels = {"a", "b", "c"};
  for (const char* name :
       {"classification", "multilabel", "regression", "squad", "tagging", "multiple_choice"}) {
    Json description = {{"task", name}, {"labels", labels}};
    EXPECT_EQ(make_described_task(description, options())->describe()["task"], Json(name));
  }
  EXPECT_THROW(make_described_task(Json::array(), options()), Error);
  EXPECT_THROW(make_described_task(Json{{"task", "ner"}}, options()), Error);
}

}  // namespace
}  // namespace bertrain
