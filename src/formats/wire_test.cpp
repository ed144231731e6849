// Protocol-buffer wire format: known bytes, round trips, and malformed messages.
#include "formats/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "base/error.h"
#include "base/error_message.h"

namespace bertrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::string_view_literals;

std::string failure_of(std::string_view message) {
  return message_of([&] {
    WireReader reader(message);
    while (reader.next()) {
    }
  });
}

TEST(wire, KnownBytes) {
  WireWriter w;
  w.varint(1, 150);  // the example of the encoding guide
  w.bytes(2, "testing");
  w.fixed32(3, 1);
  w.f64(4, 1.0);
  EXPECT_EQ(w.message(), "\x08\x96\x01\x12\x07testing\x1d\x01\0\0\0\x21\0\0\0\0\0\0\xf0\x3f"sv);
  WireWriter packed;
  packed.packed_varints(4, std::vector<int64_t>{3, 270, 86942});
  EXPECT_EQ(packed.message(), "\x22\x06\x03\x8e\x02\x9e\xa7\x05"sv);
}

TEST(wire, RoundTrip) {
  std::vector<int64_t> numbers = {0,
                                  1,
                                  127,
                                  128,
                                  1 << 14,
                                  -1,
                                  std::numeric_limits<int64_t>::min(),
                                  std::numeric_limits<int64_t>::max()};
  std::vector<float> reals = {0.0f, -1.5f, std::numeric_limits<float>::infinity()};
  WireWriter w;
  w.packed_varints(1, numbers);
  for (int64_t v : numbers) w.varint(1, static_cast<uint64_t>(v));
  w.packed_floats(2, reals);
  w.f32(2, 7.0f);
  w.fixed64(536870911, 1u);
  WireReader r(w.message());
  std::vector<int64_t> numbers_read;
  std::vector<float> reals_read;
  while (r.next()) {
    if (r.field() == 1) r.append_varints(numbers_read);
    if (r.field() == 2) r.append_floats(reals_read);
    if (r.field() == 536870911) {
      EXPECT_EQ(r.fixed64(), 1u);
    }
  }
  numbers.insert(numbers.end(), numbers.begin(), numbers.end());
  reals.push_back(7.0f);
  EXPECT_EQ(numbers_read, numbers);
  EXPECT_EQ(reals_read, reals);
}

TEST(wire, ZigZag) {
  for (auto [stored, value] : std::vector<std::pair<uint64_t, int64_t>>{
           {0, 0}, {1, -1}, {2, 1}, {4294967295u, -2147483648LL}}) {
    WireWriter w;
    w.varint(1, stored);
    WireReader r(w.message());
    ASSERT_TRUE(r.next());
    EXPECT_EQ(r.zigzag(), value);
  }
}

TEST(wire, MalformedMessages) {
  EXPECT_THAT(failure_of("\x08"), HasSubstr("ends early: expected 1 bytes, found 0"));
  EXPECT_THAT(failure_of("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
              HasSubstr("more than 10 bytes"));
  EXPECT_THAT(failure_of("\x12\x05"
                         "abc"),
              HasSubstr("expected 5 bytes, found 3"));
  EXPECT_THAT(failure_of("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), HasSubstr("ends early"));
  EXPECT_THAT(failure_of("\x0b"), HasSubstr("unknown storage type 3 of field 1"));
  EXPECT_THAT(failure_of("\x02\x01"), HasSubstr("no field 0"));
  EXPECT_THAT(failure_of("\x15\x01"), HasSubstr("expected 4 bytes, found 1"));
}

TEST(wire, AnotherKindThanAskedFor) {
  WireReader r("\x08\x01"sv);
  ASSERT_TRUE(r.next());
  EXPECT_THROW(r.text(), Error);
  EXPECT_THROW(r.fixed32(), Error);
  WireReader odd(
      "\x0a\x03"
      "abc"sv);
  ASSERT_TRUE(odd.next());
  std::vector<float> values;
  EXPECT_THROW(odd.append_floats(values), Error);
  EXPECT_THAT(values, ElementsAre());
}

TEST(wire, AnyBytesAreReadOrRefused) {
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(random() % 24, '\0');
    for (char& c : bytes) c = static_cast<char>(random() % 4 == 0 ? random() : random() % 32);
    try {
      WireReader r(bytes);
      std::vector<int64_t> numbers;
      while (r.next()) {
        if (r.type() == WireType::bytes) r.append_varints(numbers);
      }
      EXPECT_LE(numbers.size(), bytes.size());
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace bertrain
