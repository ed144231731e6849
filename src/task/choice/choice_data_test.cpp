// Rows of choices as examples: in memory, from records, and one after the other.
#include "task/choice/choice_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "formats/tfrecord.h"
#include "storage/storage.h"
#include "task/choice/choice_stream.h"

namespace bertrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Integers = std::vector<int64_t>;

const Tokenizer& toy() {
  static const Tokenizer tokenizer(
      Vocabulary({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c"}, "toy"));
  return tokenizer;
}

std::vector<ChoiceRow> rows() {
  return {{"a b", "first", {"c", "a a"}, 1, 2}, {"c", "", {"b", "b"}, -1, 3}};
}

void require_first_row(const Example& example) {
  // [CLS] a b [SEP] c [SEP], then [CLS] a b [SEP] a a [SEP].
  EXPECT_THAT(integers(example, "input_ids"), ElementsAre(2, 5, 6, 3, 7, 3, 2, 5, 6, 3, 5, 5, 3));
  EXPECT_THAT(integers(example, "segment_ids"), ElementsAre(0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 1));
  EXPECT_THAT(integers(example, "choice"), ElementsAre(0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1));
  EXPECT_THAT(integers(example, "choice_position"),
              ElementsAre(0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(integers(example, "choice_first"), ElementsAre(0, 6, 0));
  EXPECT_THAT(floats(example, "choice_there"), ElementsAre(1, 1, 0));
  EXPECT_THAT(integers(example, "label"), ElementsAre(1));
  EXPECT_THAT(integers(example, "row"), ElementsAre(0));
  EXPECT_THAT(strings(example, "gold"), ElementsAre("1"));
  EXPECT_THAT(strings(example, "id"), ElementsAre("first"));
}

TEST(ChoiceData, ChoicesLieOneBehindTheOther) {
  ChoiceData data("rows.csv");
  data.add(rows(), PairEncoder(toy(), 8, true));
  EXPECT_EQ(data.size(), 2u);
  EXPECT_EQ(data.choices(), 2);
  require_first_row(data.example(0, 3));
  Example second = data.example(1, 2);
  EXPECT_THAT(integers(second, "label"), ElementsAre(0));
  EXPECT_THAT(integers(second, "row"), ElementsAre(1));
  EXPECT_FALSE(second.contains("gold"));
  EXPECT_FALSE(second.contains("id"));
  EXPECT_THAT(integers(second, "choice_first"), ElementsAre(0, 5));
}

TEST(ChoiceData, AChoiceIsCutAsAPair) {
  ChoiceData data("rows.csv");
  data.add(rows(), PairEncoder(toy(), 5, true));
  EXPECT_THAT(integers(data.example(0, 2), "input_ids"), ElementsAre(2, 5, 3, 7, 3, 2, 5, 3, 5, 3));
}

constexpr const char* kRecords = "mem://choice_data/rows.tfrecord";

void write_records(std::vector<Example> records) {
  std::string bytes;
  for (const Example& record : records) bytes += frame_record(serialize_example(record));
  write_text(kRecords, bytes);
}

std::vector<Example> recorded() {
  ChoiceData data("rows.csv");
  auto known = rows();
  known[1].label = 0;
  data.add(known, PairEncoder(toy(), 8, true));
  RecordMaker maker("multiple_choice", 8);
  std::vector<Example> records;
  for (uint64_t i = 0; i < data.size(); ++i) {
    for (Example& record : maker.make_all(data.example(i, 2), "")) {
      records.push_back(std::move(record));
    }
  }
  return records;
}

uint64_t read(ChoiceData& data, int64_t most = 0) {
  RecordedReader reader(kRecords, {8, 8, 8});
  return data.add(reader, most);
}

TEST(ChoiceData, RecordsAreTheSameRows) {
  write_records(recorded());
  ChoiceData data(kRecords);
  EXPECT_EQ(read(data), 4u);
  EXPECT_EQ(data.size(), 2u);
  require_first_row(data.example(0, 3));
  ChoiceData first(kRecords);
  EXPECT_EQ(read(first, 1), 2u);
}

TEST(ChoiceData, RecordsOfARowBelongTogether) {
  auto told = [](size_t record, const char* feature, auto value) {
    std::vector<Example> records = recorded();
    records.at(record)[feature] = std::move(value);
    write_records(std::move(records));
    try {
      ChoiceData data(kRecords);
      read(data);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("nothing");
  };
  EXPECT_THAT(told(1, "choice", Integers{0, 2}), HasSubstr("'choice': 0 of 2; 1 of 2 expected"));
  EXPECT_THAT(told(2, "choice", Integers{0, 3}), HasSubstr("'choice': 0 of 3; 0 of 2 expected"));
  EXPECT_THAT(told(1, "label_ids", Integers{0}), HasSubstr("as of the row's first choice"));
  EXPECT_THAT(told(1, "id", std::vector<std::string>{"other"}),
              HasSubstr("'id': 'other'; 'first', as of the row's first choice, expected"));
  EXPECT_THAT(told(1, "label_ids", Integers{2}), HasSubstr("a number from 0 to 1 expected"));
  std::vector<Example> records = recorded();
  records.pop_back();
  write_records(std::move(records));
  ChoiceData data(kRecords);
  EXPECT_THAT([&] { read(data); }, ThrowsMessage<Error>(HasSubstr("last row has 1 of 2 choices")));
}

ExampleStream opened(const std::string& text, bool one_by_one = false) {
  constexpr const char* file = "mem://choice_data/rows.csv";
  write_text(file, text);
  ChoiceColumns columns = {"sent1", "", "label", "id", "ending"};
  auto reader =
      std::make_unique<ChoiceRowReader>(file, columns, RowOptions(), ChoiceLabels::optional);
  return stream_choices(std::move(reader), std::make_shared<PairEncoder>(toy(), 8, true), 3,
                        std::make_shared<ToldOnce>(), one_by_one);
}

TEST(ChoiceStream, RowsAsTheyAreAskedFor) {
  const std::string table =
      "id,sent1,ending0,ending1,label\nfirst,a b,c,a a,1\n,c,b,b,-1\nlast,a,b,c,0\n";
  for (bool one_by_one : {false, true}) {
    ExampleStream stream = opened(table, one_by_one);
    require_first_row(stream->next().value());
    EXPECT_FALSE(stream->next()->contains("gold"));
    EXPECT_THAT(strings(*stream->next(), "id"), ElementsAre("last"));
    EXPECT_FALSE(stream->next());
    EXPECT_FALSE(stream->next());
  }
  ExampleStream later = opened(table);
  EXPECT_EQ(later->skip(2), 2u);
  EXPECT_THAT(integers(*later->next(), "row"), ElementsAre(2));
  EXPECT_EQ(opened(table)->skip(9), 3u);
}

// A pipe may not end for long: only what is asked for is read.
TEST(ChoiceStream, OneByOneReadsNoFurther) {
  const std::string table = "id,sent1,ending0,ending1\nfirst,a b,c,a a\nsecond,a\n";
  ExampleStream stream = opened(table, true);
  EXPECT_TRUE(stream->next());
  EXPECT_THAT([&] { stream->next(); }, ThrowsMessage<Error>(HasSubstr("rows.csv:3:")));
}

}  // namespace
}  // namespace bertrain
