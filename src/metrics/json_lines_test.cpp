// JSON lines: valid whatever the numbers are, and one line a step over kills and resumes.
#include "metrics/json_lines.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include "base/error.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

namespace fs = std::filesystem;

class JsonLinesTest : public testing::Test {
 protected:
  JsonLinesTest() {
    char name[] = "/tmp/bertrain-metrics-XXXXXX";
    folder_ = ::mkdtemp(name);
    path_ = folder_ + "/run/metrics.jsonl";
  }
  ~JsonLinesTest() override { fs::remove_all(folder_); }
  std::string folder_, path_;
};

TEST_F(JsonLinesTest, OneObjectALine) {
  JsonLines lines(path_, 0);
  lines.add(10, {{"loss", 2.5}, {"rate", 1e-4}});
  EXPECT_EQ(read_text(path_), "{\"step\":10,\"loss\":2.5,\"rate\":0.0001}\n");
  lines.add(20, {{"note", "ä\n"}});
  EXPECT_EQ(read_text(path_),
            "{\"step\":10,\"loss\":2.5,\"rate\":0.0001}\n{\"step\":20,\"note\":\"ä\\n\"}\n");
}

TEST_F(JsonLinesTest, NotFiniteIsNullAtAnyDepth) {
  double nan = std::numeric_limits<double>::quiet_NaN(),
         inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(json_line({{"a", nan}, {"b", {1.0, -inf, {{"c", inf}}}}}),
            "{\"a\":null,\"b\":[1.0,null,{\"c\":null}]}");
  EXPECT_EQ(json_line("\xff"), "\"\xef\xbf\xbd\"");
}

TEST_F(JsonLinesTest, ResumeDropsLaterAndTornLines) {
  {
    JsonLines lines(path_, 0);
    for (int step : {10, 20, 30}) lines.add(step, {{"loss", 1}});
  }
  std::string torn = read_text(path_) + "{\"step\":40,\"lo";
  write_text(path_, torn);
  JsonLines lines(path_, 20);
  lines.add(30, {{"loss", 2}});
  EXPECT_EQ(read_text(path_),
            "{\"step\":10,\"loss\":1}\n{\"step\":20,\"loss\":1}\n{\"step\":30,\"loss\":2}\n");
}

TEST_F(JsonLinesTest, LastLineWithoutItsEndIsCompleted) {
  write_text(path_, "{\"step\":1}");
  JsonLines(path_, 5).add(2, Json::object());
  EXPECT_EQ(read_text(path_), "{\"step\":1}\n{\"step\":2}\n");
}

TEST_F(JsonLinesTest, PiecesWhereNothingGrows) {
  {
    JsonLines lines("mem://run/metrics.jsonl", 0);
    lines.add(1, Json::object());
    lines.flush();
    lines.flush();
    lines.add(2, Json::object());
  }
  JsonLines("mem://run/metrics.jsonl", 2).add(3, Json::object());
  EXPECT_EQ(read_text("mem://run/metrics.jsonl"), "{\"step\":1}\n");
  EXPECT_EQ(read_text("mem://run/metrics.jsonl.1"), "{\"step\":2}\n");
  EXPECT_EQ(read_text("mem://run/metrics.jsonl.2"), "{\"step\":3}\n");
}

TEST_F(JsonLinesTest, UnwritablePlaceIsNamed) {
  write_text(folder_ + "/file", "x");
  EXPECT_THROW(JsonLines(folder_ + "/file/metrics.jsonl", 0), Error);
}

}  // namespace
}  // namespace bertrain
