// Recorded windows of questions: which question they are of, and which have no answer.
#include "task/squad/recorded_windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "formats/tfrecord.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Integers = std::vector<int64_t>;

constexpr const char* kFile = "mem://recorded_windows/rows.tfrecord";

Example window(const std::string& id, int64_t place, int64_t is_impossible) {
  return {{"input_ids", Integers{2, 5, 3, 6, 3, 0}},   {"input_mask", Integers{1, 1, 1, 1, 1, 0}},
          {"segment_ids", Integers{0, 0, 0, 1, 1, 0}}, {"start_positions", Integers{place}},
          {"end_positions", Integers{place}},          {"is_impossible", Integers{is_impossible}},
          {"id", std::vector<std::string>{id}}};
}

RecordedWindows read(const std::vector<Example>& records, int64_t limit = 0) {
  std::string bytes;
  for (const Example& each : records) bytes += frame_record(serialize_example(each));
  write_text(kFile, bytes);
  RecordedReader reader(kFile, {6, 6, 8});
  return {reader, limit};
}

TEST(RecordedWindows, WindowsOfQuestions) {
  std::vector<Example> records = {window("a", 0, 0), window("a", 3, 0), window("b", 0, 1)};
  RecordedWindows windows = read(records);
  EXPECT_EQ(windows.size(), 3u);
  EXPECT_EQ(windows.questions(), 2u);
  EXPECT_EQ(windows.id(1), "b");
  EXPECT_THAT(integers(windows.example(1), "row"), ElementsAre(0));
  EXPECT_THAT(integers(windows.example(1), "start_position"), ElementsAre(3));
  EXPECT_EQ(read(records, 1).size(), 2u);
}

TEST(RecordedWindows, QuestionsWithoutAnAnswer) {
  EXPECT_EQ(read({window("a", 3, 0)}).impossible(), 0u);
  EXPECT_EQ(read({window("a", 0, 1), window("a", 0, 1), window("b", 3, 0), window("c", 0, 1)})
                .impossible(),
            2u);
  // A window without the answer that another one holds.
  EXPECT_EQ(read({window("a", 0, 1), window("a", 3, 0)}).impossible(), 0u);
  EXPECT_EQ(read({window("", 0, 1), window("", 3, 0)}).impossible(), 1u);
}

TEST(RecordedWindows, TellsWhatIsWrong) {
  EXPECT_THAT([] { read({window("a", 3, 1)}); },
              ThrowsMessage<Error>(HasSubstr("'end_positions': 3; 0 where is_impossible says")));
  EXPECT_THAT([] { read({window("a", 5, 0)}); },
              ThrowsMessage<Error>(HasSubstr("'start_positions': 5; a number from 0 to 4")));
}

}  // namespace
}  // namespace bertrain
