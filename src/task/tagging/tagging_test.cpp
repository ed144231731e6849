// Tagging: files to examples, windows back to sentences, unknown tags, scores.
#include "task/tagging/tagging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/log.h"
#include "storage/storage.h"
#include "task/tagging/tag_rows.h"
#include "task/tiny_config.h"

namespace bertrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Strings = std::vector<std::string>;

constexpr const char *kTrain = "mem://tagging/train.conll", *kDev = "mem://tagging/dev.conll",
                     *kTest = "mem://tagging/test.conll";

std::unique_ptr<Task> make(const TaggingOptions& options, const Json* description = nullptr) {
  auto tokenizer = std::make_shared<Tokenizer>(
      Vocabulary({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "##b"}, "toy"));
  return make_tagging(options, tiny_config(8, 64), tokenizer, description);
}

TaggingOptions options(const std::string& train, const std::string& dev = "") {
  TaggingOptions o;
  write_text(kTrain, train);
  o.train_file = kTrain;
  o.dev_fraction = 0;
  if (!dev.empty()) {
    write_text(kDev, dev);
    o.dev_file = kDev;
  }
  return o;
}

TEST(Tagging, TargetsAreFirstPieces) {
  auto task = make(options("abb B-X\na O\n\n\nb B-X\n"));
  std::vector<Example> train = rest_of(*task->examples("train"));
  ASSERT_EQ(train.size(), 2u);
  EXPECT_THAT(integers(train[0], "input_ids"), ElementsAre(2, 5, 7, 7, 5, 3));
  EXPECT_THAT(integers(train[0], "target_positions"), ElementsAre(1, 4));
  EXPECT_THAT(integers(train[0], "tags"), ElementsAre(0, 1));
  EXPECT_THAT(floats(train[0], "tag_weights"), ElementsAre(1, 1));
  EXPECT_THAT(integers(train[1], "row"), ElementsAre(1));
  EXPECT_EQ(task->count("train"), 2u);
  EXPECT_EQ(task->row_name(1), "mem://tagging/train.conll:5");
  EXPECT_THAT(task->splits(), ElementsAre("train"));
  EXPECT_THAT(task->describe()["labels"].get<Strings>(), ElementsAre("B-X", "O"));
  EXPECT_EQ(task->describe()["columns"], 2);
}

TEST(Tagging, PiecesAreCountedAsTheWindowsShowThem) {
  std::string log, words;
  LogSink sink([&](std::string_view line) { log += std::string(line) + "\n"; });
  for (int i = 0; i < 14; ++i) words += i % 2 ? "b O\n" : "a B-X\n";
  TaggingOptions o = options(words + "\na O\n");
  o.max_seq_length = 10;
  make(o);
  // Words 0 to 7, 4 to 11 and 8 to 13 of the first sentence, and the one of the second: 23 in 4 windows.
  EXPECT_THAT(log,
              HasSubstr("train.conll: 2 sentences of 7.5 words; 1 are longer than a window: "));
  EXPECT_THAT(log, HasSubstr("4 windows of 5.8 pieces"));
}

// Whoever cannot be predicted is scored and weighs nothing in the loss.
TEST(Tagging, UnknownTagsHaveNoLoss) {
  std::vector<Example> dev =
      rest_of(*make(options("a O\nb B-X\n", "a O\nb I-X\n"))->examples("dev"));
  EXPECT_THAT(floats(dev.at(0), "tag_weights"), ElementsAre(1, 0));
  EXPECT_THAT(strings(dev.at(0), "gold"), ElementsAre("O", "I-X"));
  EXPECT_THAT([] { make(options("a O\nb B-X\n", "a NN\nb VB\n")); },
              ThrowsMessage<Error>(HasSubstr("dev.conll:1: tag 'NN' is not among the model's")));
  TaggingOptions some = options("a O\nb B-X\n");
  some.labels = "O,I-X";
  EXPECT_THAT([&] { make(some); }, ThrowsMessage<Error>(HasSubstr("train.conll:2: tag 'B-X'")));
  some.labels = "B-X,O,I-X";
  EXPECT_THAT(make(some)->describe()["labels"].get<Strings>(), ElementsAre("B-X", "O", "I-X"));
}

TEST(Tagging, SaysWhatCannotBe) {
  auto refuses = [](const TaggingOptions& o, const std::string& text) {
    EXPECT_THAT([&] { make(o); }, ThrowsMessage<Error>(HasSubstr(text)));
  };
  refuses(options("\n\n"), "train.conll: there is no sentence to train on");
  refuses(options("a O\n"), "there is only the tag 'O'");
  refuses(options("a O\nb X\n", "\n"), "dev.conll: there is no word to evaluate on");
  TaggingOptions o = options("a O\nb X\n");
  o.max_seq_length = 65;
  refuses(o, "beyond the model's 64 positions");
  o = options("a O\nb X\n");
  o.dev_fraction = 1;
  refuses(o, "--dev_fraction=1");
  refuses({}, "the tags are not known");
}

// Batches with a known answer for every target: the tag (number of the word) mod 2.
void answer(const std::vector<Example>& examples, const Task& task, Rows& rows, bool backwards) {
  std::vector<size_t> order(examples.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = backwards ? order.size() - 1 - i : i;
  for (size_t i : order) {
    PackOptions pack_options;
    pack_options.capacities = {{.rows = 1, .slots = 64, .examples = 2, .targets = 70}};
    pack_options.keep_notes = true;
    std::vector<Batch> batches = pack({&examples[i], 1}, task.schema(), pack_options, 0);
    ASSERT_EQ(batches.size(), 1u);
    int64_t first = integers(batches[0].notes.at(0), "tagged").at(0);
    std::vector<int32_t> tag(70);
    for (size_t m = 0; m < tag.size(); ++m)
      tag[m] = static_cast<int32_t>((first + static_cast<int64_t>(m)) % 2);
    Named<Array> predictions;
    predictions["tag"] = make_array<int32_t>({70}, tag);
    predictions["loss"] = make_array<float>({70}, std::vector<float>(70, 0.5F));
    predictions["surprise"] = make_array<float>({70}, std::vector<float>(70, 0.0F));
    rows.add(batches[0], predictions);
  }
}

TEST(Tagging, PutsWindowsTogetherInAnyOrder) {
  std::string text = "a B-X\n\n";
  for (int i = 0; i < 50; ++i) text += i % 2 ? "b O\n" : "a B-X\n";
  TaggingOptions o = options(text, text);
  o.max_seq_length = 12;
  write_text(kTest, text + "\n \n\n");
  o.test_file = kTest;
  auto task = make(o);
  for (const char* split : {"dev", "test"}) {
    std::vector<Example> examples = rest_of(*task->examples(split));
    ASSERT_GT(examples.size(), 7u);
    for (bool backwards : {false, true}) {
      std::unique_ptr<Rows> rows = task->rows();
      std::unique_ptr<Scorer> scorer = task->scorer();
      answer(examples, *task, *rows, backwards);
      std::string lines;
      size_t count = 0;
      while (auto row = rows->next()) {
        ++count;
        scorer->add(*row);
        EXPECT_EQ(strings(*row, "tags").size(), count == 1 ? 1u : count == 2 ? 50u : 0u);
        if (split == std::string("dev")) continue;
        for (const std::string& line : strings(*row, "lines")) lines += line + "\n";
      }
      EXPECT_EQ(count, split == std::string("dev") ? 2u : 3u);
      EXPECT_EQ(scorer->result()["eval_f1"], 1.0);
      EXPECT_EQ(scorer->result()["eval_loss"], 0.5);
      EXPECT_EQ(scorer->result()["eval_count"], 2);
      EXPECT_EQ(scorer->details()["classes"]["X"]["support"], 26);
      EXPECT_EQ(lines, split == std::string("test") ? text + "\n \n\n" : "");
    }
  }
}

TEST(Tagging, DoubtsATaggerThatSaysTheSameOfAllWords) {
  auto doubt = [](const std::string& tag) {
    std::unique_ptr<Scorer> scorer = make_tag_scorer();
    std::vector<std::string> gold(40, "B-X"), tags(40, tag);
    for (size_t i = 0; i < 30; ++i) gold[i] = "O";
    scorer->add({{"gold", gold}, {"tags", tags}, {"loss", std::vector<float>(40, 1.0F)}});
    scorer->add({{"gold", gold}, {"tags", tags}, {"loss", std::vector<float>(40, 1.0F)}});
    return scorer->doubt();
  };
  EXPECT_THAT(doubt("B-X"),
              HasSubstr("100.0 % of the words are tagged 'B-X' by the model, which 25.0 % are"));
  EXPECT_THAT(doubt("O"), HasSubstr("finds none of the 20 entities"));
}

TEST(Tagging, HoldsOutEqualSentencesTogether) {
  std::string text;
  for (int i = 0; i < 400; ++i) text += fmt::format("w{} O\na X\n\n", i / 2);
  TaggingOptions o = options(text);
  o.dev_fraction = 0.25;
  auto task = make(o);
  auto held = static_cast<int64_t>(*task->count("dev"));
  EXPECT_EQ(held % 2, 0);
  EXPECT_NEAR(static_cast<double>(held), 100, 40);
  EXPECT_EQ(*task->count("train") + *task->count("dev"), 400u);
  o.limit = 10;
  o.dev_fraction = 0;
  EXPECT_EQ(make(o)->count("train"), 10u);
}

TEST(Tagging, TakesWhatTheModelWasTrainedWith) {
  write_text(kTest, "x a\n");
  Json description = {{"task", "tagging"}, {"labels", {"O", "X"}}, {"word_column", 2},
                      {"tag_column", 0},   {"columns", 3},         {"max_seq_length", 9}};
  TaggingOptions o;
  o.test_file = kTest;
  auto task = make(o, &description);
  EXPECT_EQ(task->max_seq_length(), 9);
  std::vector<Example> test = rest_of(*task->examples("test"));
  EXPECT_THAT(strings(test.at(0), "words"), ElementsAre("a"));
  EXPECT_FALSE(test[0].contains("gold"));
  description["labels"] = {"O"};
  EXPECT_THROW(make(o, &description), Error);
}

}  // namespace
}  // namespace bertrain
