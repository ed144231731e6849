// Records of rows: what is written is read again, and what is wrong in a record is told with its place.
#include "task/recorded.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Integers = std::vector<int64_t>;

constexpr const char* kFile = "mem://recorded/rows.tfrecord";
constexpr int64_t kWidth = 6, kVocabulary = 10;

Example row() {
  return {{"input_ids", Integers{2, 7, 3, 8, 3}},
          {"segment_ids", Integers{0, 0, 0, 1, 1}},
          {"label", Integers{1}},
          {"id", std::vector<std::string>{"first"}}};
}

void write(const Example& record) { write_text(kFile, frame_record(serialize_example(record))); }

RecordedReader opened(const Example& record, int64_t width = kWidth) {
  write(record);
  RecordedReader reader(kFile, {width, kWidth, kVocabulary});
  EXPECT_TRUE(reader.next());
  return reader;
}

TEST(Recorded, ReadsWhatItWrites) {
  Example record = RecordMaker("classification", kWidth).make(row(), "");
  EXPECT_THAT(integers(record, "input_ids"), ElementsAre(2, 7, 3, 8, 3, 0));
  EXPECT_THAT(integers(record, "input_mask"), ElementsAre(1, 1, 1, 1, 1, 0));
  EXPECT_THAT(integers(record, "segment_ids"), ElementsAre(0, 0, 0, 1, 1, 0));
  RecordedReader reader = opened(record);
  PairInput input = reader.input();
  EXPECT_THAT(input.ids, ElementsAre(2, 7, 3, 8, 3));
  EXPECT_EQ(input.first, 3u);
  EXPECT_EQ(reader.integer("label_ids", 0, 2), 1);
  EXPECT_EQ(reader.text("id"), "first");
  EXPECT_EQ(reader.text("none"), "");
  EXPECT_FALSE(reader.next());
}

TEST(Recorded, LabelsByTask) {
  Example number = row();
  number["value"] = std::vector<float>{0.1F};
  EXPECT_EQ(opened(RecordMaker("regression", kWidth).make(number, "")).real("label_ids"), 0.1F);
  Example several = row();
  several["labels"] = std::vector<float>{1, 0, 1};
  EXPECT_THAT(integers(RecordMaker("multilabel", kWidth).make(several, ""), "label_ids"),
              ElementsAre(1, 0, 1));
}

TEST(Recorded, WindowsOfSentencesAndQuestionsAreNumbered) {
  RecordMaker tags("tagging", kWidth);
  Example window = row();
  window["target_positions"] = Integers{1, 3};
  window["tags"] = Integers{4, 0};
  window["tag_weights"] = std::vector<float>{1, 0};
  std::vector<Integers> numbers;
  for (int64_t sentence : {5, 5, 6}) {
    window["row"] = Integers{sentence};
    Example record = tags.make(window, "");
    EXPECT_THAT(integers(record, "label_ids"), ElementsAre(-1, 4, -1, -1, -1, -1));
    numbers.push_back({integers(record, "sentence_id")[0], integers(record, "sub_sentence_id")[0]});
  }
  EXPECT_THAT(numbers, ElementsAre(Integers{5, 0}, Integers{5, 1}, Integers{6, 0}));
  RecordMaker answers("squad", kWidth);
  Example question = row();
  for (const char* name : {"start_position", "end_position", "is_impossible"}) {
    question[name] = Integers{0};
  }
  answers.make(question, "q1");
  Example record = answers.make(question, "q2");
  EXPECT_THAT(integers(record, "unique_ids"), ElementsAre(1'000'000'001));
  EXPECT_THAT(strings(record, "id"), ElementsAre("q2"));
}

TEST(Recorded, EachChoiceHasARecord) {
  Example example = row();
  example["choice"] = Integers{0, 0, 0, 1, 1};
  std::vector<Example> records = RecordMaker("multiple_choice", kWidth).make_all(example, "");
  ASSERT_EQ(records.size(), 2u);
  EXPECT_THAT(integers(records[0], "input_ids"), ElementsAre(2, 7, 3, 0, 0, 0));
  EXPECT_THAT(integers(records[1], "input_ids"), ElementsAre(8, 3, 0, 0, 0, 0));
  EXPECT_THAT(integers(records[1], "segment_ids"), ElementsAre(1, 1, 0, 0, 0, 0));
  EXPECT_THAT(integers(records[1], "choice"), ElementsAre(1, 2));
  for (const Example& record : records) {
    EXPECT_THAT(integers(record, "label_ids"), ElementsAre(1));
    EXPECT_THAT(strings(record, "id"), ElementsAre("first"));
  }
}

TEST(Recorded, TellsWhatIsWrong) {
  auto with = [](const char* name, Integers values) {
    Example record = RecordMaker("classification", kWidth).make(row(), "");
    record[name] = std::move(values);
    return record;
  };
  auto input_of = [](const Example& record) { return [&] { opened(record).input(); }; };
  auto says = [](const char* text) {
    return ThrowsMessage<Error>(
        AllOf(HasSubstr("rows.tfrecord: record 1 at byte 0: feature "), HasSubstr(text)));
  };
  EXPECT_THAT(input_of(with("input_ids", {2, 7, 3, 10, 3, 0})),
              says("'input_ids': 10; a number from 0 to 9 expected"));
  EXPECT_THAT(input_of(with("input_ids", {2, 7, 3})), says("'input_ids': 3 values; 6, as"));
  EXPECT_THAT(input_of(with("input_mask", {1, 1, 0, 1, 1, 0})), says("'input_mask': ones and"));
  EXPECT_THAT(input_of(with("input_mask", {0, 0, 0, 0, 0, 0})), says("'input_mask': ones and"));
  EXPECT_THAT(input_of(with("segment_ids", {0, 1, 0, 1, 1, 0})), says("'segment_ids': zeros"));
  EXPECT_THAT(input_of(with("segment_ids", {0, 1})), says("'segment_ids': 2 values; 6 expected"));
  EXPECT_THAT([&] { opened(with("label_ids", {3})).integer("label_ids", 0, 2); },
              says("'label_ids': 3; a number from 0 to 2 expected"));
  EXPECT_THAT([&] { opened(with("label_ids", {})).integer("label_ids", 0, 2); },
              says("'label_ids': 0 values; 1 expected"));
  EXPECT_THAT([&] { opened(with("id", {1})).text("id"); }, says("'id' is of kind int64"));
}

// RoBERTa's models, and some of BERT's kind, have one segment.
TEST(Recorded, SegmentsAreTheModels) {
  write(RecordMaker("classification", kWidth).make(row(), ""));
  RecordedReader reader(kFile, {kWidth, kWidth, kVocabulary, 1});
  ASSERT_TRUE(reader.next());
  EXPECT_THAT(
      [&] { reader.input(); },
      ThrowsMessage<Error>(HasSubstr("rows.tfrecord: record 1 at byte 0: feature 'segment_ids': "
                                     "1; 0, as the model's type_vocab_size is 1, expected")));
  Example single = row();
  single["segment_ids"] = Integers{0, 0, 0, 0, 0};
  write(RecordMaker("classification", kWidth).make(single, ""));
  RecordedReader of_one(kFile, {kWidth, kWidth, kVocabulary, 1});
  ASSERT_TRUE(of_one.next());
  EXPECT_EQ(of_one.input().first, 5u);
}

TEST(Recorded, AnEmptyFileHasNoRecords) {
  write_text(kFile, "");
  EXPECT_THAT(
      [] {
        RecordedReader(kFile, {kWidth, kWidth, kVocabulary});
      },
      ThrowsMessage<Error>(HasSubstr("rows.tfrecord: the file is empty, and records are")));
  MetaData meta;
  EXPECT_TRUE(is_recorded(kFile, &meta));
  EXPECT_FALSE(is_recorded(kFile, nullptr));
}

TEST(Recorded, SharesOfRecordsAreRefused) {
  EXPECT_NO_THROW(refuse_shares(1, 0.05, 0.05));
  EXPECT_THROW(refuse_shares(0.5, 0.05, 0.05), Error);
  EXPECT_THROW(refuse_shares(1, 0.2, 0.05), Error);
}

}  // namespace
}  // namespace bertrain
