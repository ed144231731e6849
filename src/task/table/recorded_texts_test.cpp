// Recorded rows of texts: labels by name, windows of one row that belong together.
#include "task/table/recorded_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "formats/tfrecord.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Integers = std::vector<int64_t>;

constexpr const char* kFile = "mem://recorded_texts/rows.tfrecord";

Example record(int64_t label, int64_t window, int64_t windows) {
  return {{"input_ids", Integers{2, 5, 3, 0}},   {"input_mask", Integers{1, 1, 1, 0}},
          {"segment_ids", Integers{0, 0, 0, 0}}, {"label_ids", Integers{label}},
          {"id", std::vector<std::string>{"r"}}, {"window", Integers{window, windows}}};
}

std::shared_ptr<TextData> read(const std::vector<Example>& records) {
  std::string bytes;
  for (const Example& each : records) bytes += frame_record(serialize_example(each));
  write_text(kFile, bytes);
  Json description = {{"labels", {"no", "yes"}}};
  std::shared_ptr<TextTarget> target = make_single_label({});
  target->take(JsonValue(description, "test"));
  return read_recorded_texts(RecordedReader(kFile, {4, 4, 8}),
                             {kFile, "classification", target, nullptr, 0, LongText::windows},
                             std::nullopt);
}

std::string fault(const std::vector<Example>& records) {
  try {
    read(records);
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing";
}

TEST(RecordedTexts, RowsAndTheirWindows) {
  auto data = read({record(1, 0, 2), record(1, 1, 2), record(0, 0, 1)});
  EXPECT_EQ(data->rows(), 2u);
  EXPECT_EQ(data->size(), 3u);
  EXPECT_EQ(data->labels()[0].text, "yes");
  EXPECT_EQ(data->labels()[1].text, "no");
  EXPECT_THAT(integers(data->example(1), "window"), ElementsAre(1, 2));
}

TEST(RecordedTexts, WindowsOfARowAgree) {
  EXPECT_THAT(fault({record(1, 0, 2), record(0, 1, 2)}),
              HasSubstr("rows.tfrecord: record 2 at byte"));
  EXPECT_THAT(
      fault({record(1, 0, 2), record(0, 1, 2)}),
      HasSubstr("feature 'label_ids': 'no'; 'yes', as of the row's window before, expected"));
  Example other = record(1, 1, 2);
  other["id"] = std::vector<std::string>{"s"};
  EXPECT_THAT(fault({record(1, 0, 2), other}),
              HasSubstr("feature 'id': 's'; 'r', as of the row's window before, expected"));
  EXPECT_THAT(fault({record(1, 0, 2), record(1, 0, 1)}),
              HasSubstr("'window': 0 of 1; 1 of 2 expected"));
  EXPECT_THAT(fault({record(1, 0, 2)}), HasSubstr("the last row has 1 of 2 windows"));
}

}  // namespace
}  // namespace bertrain
