// tf.Example: known bytes, the reference's own files, and malformed messages.
#include "data/example.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "base/error_message.h"
#include "formats/tfrecord.h"

namespace bertrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::string_view_literals;

TEST(example, KnownBytes) {
  Example e = {{"b", std::vector<std::string>{"x"}}, {"a", std::vector<int64_t>{1, 300}}};
  std::string bytes = serialize_example(e);
  EXPECT_EQ(bytes,
            "\x0a\x1a"
            "\x0a\x0c\x0a\x01"
            "a"
            "\x12\x07\x1a\x05\x0a\x03\x01\xac\x02"
            "\x0a\x0a\x0a\x01"
            "b"
            "\x12\x05\x0a\x03\x0a\x01"
            "x"sv);
  EXPECT_EQ(parse_example(bytes), e);
}

TEST(example, RoundTrip) {
  Example e = {{"", std::vector<float>{}},
               {"floats", std::vector<float>{1.5f, -0.0f}},
               {"ids", std::vector<int64_t>{-1, 0, int64_t{1} << 62}},
               {"no ids", std::vector<int64_t>{}},
               {"texts", std::vector<std::string>{"", "ü", std::string("\0", 1)}}};
  EXPECT_EQ(parse_example(serialize_example(e)), e);
  EXPECT_EQ(parse_example(serialize_example({})), Example{});
}

TEST(example, UnpackedRepeatedAndUnknownFields) {
  // Values one by one, a feature without a kind, a kind replaced by a later one, fields from a
  // later version.
  EXPECT_EQ(parse_example("\x0a\x0f\x0a\x0d\x0a\x01"
                          "a"
                          "\x12\x08\x1a\x06\x08\x05\x08\x06\x08\x07"sv),
            (Example{{"a", std::vector<int64_t>{5, 6, 7}}}));
  EXPECT_EQ(parse_example("\x0a\x07\x0a\x05\x0a\x01"
                          "a"
                          "\x12\0"sv),
            Example{});
  EXPECT_EQ(parse_example("\x0a\x0f\x0a\x0d\x0a\x01"
                          "a"
                          "\x12\x08\x1a\x02\x08\x05\x12\x02\x0a\0"sv),
            (Example{{"a", std::vector<float>{}}}));
  EXPECT_EQ(parse_example("\x38\x01\x0a\0"sv), Example{});
}

TEST(example, ReadsTheReferencesFile) {
  TfRecordReader reader(BERTRAIN_TEST_DATA "/create_pretraining_data/cased-64.tfrecord");
  int count = 0;
  for (std::string record; reader.next(record); ++count) {
    Example e = parse_example(record);
    EXPECT_EQ(e.size(), 7u);
    EXPECT_EQ(integers(e, "input_ids").size(), 64u);
    EXPECT_EQ(floats(e, "masked_lm_weights").size(), 10u);
    EXPECT_EQ(parse_example(serialize_example(e)), e);
    EXPECT_EQ(serialize_example(e).size(), record.size());
  }
  EXPECT_EQ(count, 59);
}

TEST(example, FeaturesAreAskedForByNameAndKind) {
  Example e = {{"a", std::vector<int64_t>{1}}, {"b", std::vector<float>{}}};
  EXPECT_THAT(integers(e, "a"), ElementsAre(1));
  EXPECT_THAT(message_of([&] { integers(e, "c"); }),
              HasSubstr("feature 'c' is missing; there are: 'a', 'b'"));
  Example odd = {{std::string("d\0e", 3), std::vector<int64_t>{1}}};
  EXPECT_THAT(message_of([&] { integers(odd, "c"); }), HasSubstr("there are: 'd\\x00e'"));
  EXPECT_THAT(message_of([&] { strings(e, "b"); }),
              HasSubstr("feature 'b' is of kind float, expected bytes"));
}

TEST(example, MalformedMessages) {
  EXPECT_THAT(message_of([] { parse_example("\x0a\x05"sv); }), HasSubstr("ends early"));
  EXPECT_THAT(message_of([] { parse_example("\x08\x05"sv); }), HasSubstr("field 1"));
  EXPECT_THAT(message_of([] {
                parse_example(
                    "\x0a\x09\x0a\x07\x0a\x01"
                    "a"
                    "\x12\x02\x1a\x09"sv);
              }),
              HasSubstr("feature 'a': protobuf message"));
}

TEST(example, AnyBytesAreReadOrRefused) {
  std::string sound = serialize_example({{"ids", std::vector<int64_t>{1, 2, 3000}},
                                         {"f", std::vector<float>{1.0f, 2.0f}},
                                         {"s", std::vector<std::string>{"text", ""}}});
  std::mt19937 random(11);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = sound;
    for (int edits = 0; edits < 3; ++edits)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 2) bytes.resize(random() % bytes.size());
    message_of([&] { parse_example(bytes); });
  }
}

}  // namespace
}  // namespace bertrain
