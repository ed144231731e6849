// TFRecord framing: known bytes, damage of every kind named by place, and reading on behind it.
#include "formats/tfrecord.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "storage/gzip.h"

namespace bertrain {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using namespace std::string_view_literals;

struct Reading {
  std::vector<std::string> records;
  std::string failure;
  uint64_t corrupt = 0;
};

Reading read_all(const std::string& file, bool skip_corrupt = false) {
  write_text("mem://r", file);
  Reading reading;
  TfRecordReader reader("mem://r", skip_corrupt);
  try {
    for (std::string record; reader.next(record);) reading.records.push_back(record);
  } catch (const Error& e) {
    reading.failure = e.what();
  }
  reading.corrupt = reader.corrupt();
  return reading;
}

std::string three() {
  return frame_record("one") + frame_record("second") + frame_record("third!");
}
constexpr size_t kSecond = 19, kThird = 41;  // offsets of the frames

TEST(tfrecord, KnownBytes) {
  // As TensorFlow writes it: length, its masked CRC, data, their masked CRC.
  EXPECT_EQ(frame_record("hello"),
            "\x05\0\0\0\0\0\0\0\xea\xb2\x04\x3e"
            "hello\xbb\x1f\x1c\x19"sv);
  EXPECT_EQ(frame_record("").size(), 16u);
}

TEST(tfrecord, RoundTrip) {
  std::vector<std::string> records = {"", "a", std::string(1'000'000, 'x'), std::string("\0\n", 2)};
  TfRecordWriter writer(storage_for("mem://").create("mem://w", Exists::replace));
  for (const std::string& r : records) writer.write(r);
  writer.commit();
  EXPECT_EQ(read_all(read_text("mem://w")).records, records);
  TfRecordWriter packed(pack_gzip(storage_for("mem://").create("mem://w", Exists::replace)));
  for (const std::string& r : records) packed.write(r);
  packed.commit();
  EXPECT_LT(*storage_for("mem://").size("mem://w"), 10'000u);
  TfRecordReader reader("mem://w");
  std::vector<std::string> read;
  for (std::string record; reader.next(record);) read.push_back(record);
  EXPECT_EQ(read, records);
}

TEST(tfrecord, CutShort) {
  std::string file = three();
  Reading r = read_all(file.substr(0, file.size() - 7));
  EXPECT_THAT(r.records, ElementsAre("one", "second"));
  EXPECT_THAT(r.failure, AllOf(StartsWith("mem://r: record 3 at byte 41: truncated"),
                               HasSubstr("expected 6 bytes, found 3")));
  EXPECT_THAT(read_all(file.substr(0, kThird + 5)).failure,
              HasSubstr("record 3 at byte 41: truncated: expected a header of 12 bytes, found 5"));
  EXPECT_THAT(read_all(file.substr(0, file.size() - 1)).failure,
              HasSubstr("record 3 at byte 41: truncated: the record's checksum is missing"));
  r = read_all(file.substr(0, file.size() - 7), true);
  EXPECT_THAT(r.records, ElementsAre("one", "second"));
  EXPECT_EQ(r.corrupt, 1u);
}

TEST(tfrecord, EmptyFile) {
  EXPECT_THAT(read_all("").failure,
              HasSubstr("mem://r: the file is empty, and holds no record: leave it out"));
  EXPECT_EQ(read_all("", true).corrupt, 1u);
}

TEST(tfrecord, FlippedPayload) {
  std::string file = three();
  file[kSecond + 12] ^= 1;
  Reading r = read_all(file);
  EXPECT_THAT(r.failure, HasSubstr("record 2 at byte 19: the record's 6 bytes do not match"));
  r = read_all(file, true);
  EXPECT_THAT(r.records, ElementsAre("one", "third!"));
  EXPECT_EQ(r.corrupt, 1u);
}

TEST(tfrecord, ImpossibleLength) {
  std::string file = three();
  file[kSecond + 7] = 0x10;  // 2^60 + 6
  EXPECT_THAT(
      read_all(file).failure,
      HasSubstr("record 2 at byte 19: the length 1152921504606846982 does not match its checksum"));
  Reading r = read_all(file, true);
  EXPECT_THAT(r.records, ElementsAre("one", "third!"));
  EXPECT_EQ(r.corrupt, 1u);
  // Even with a sound checksum, nothing is allocated that is not there.
  std::string length("\0\0\0\0\0\0\0\x10", 8);
  std::string sound =
      frame_record(length);  // its last 4 bytes are the checksum that `length` needs
  EXPECT_THAT(read_all(length + sound.substr(sound.size() - 4) + "abc").failure,
              HasSubstr("truncated: expected 1152921504606846976 bytes, found 3"));
}

TEST(tfrecord, TwoStretchesOfDamage) {
  std::string file = "junk" + three() + "more junk" + frame_record("end");
  Reading r = read_all(file, true);
  EXPECT_THAT(r.records, ElementsAre("one", "second", "third!", "end"));
  EXPECT_EQ(r.corrupt, 2u);
}

TEST(tfrecord, DamagedGzip) {
  TfRecordWriter packed(pack_gzip(storage_for("mem://").create("mem://w", Exists::replace)));
  std::string noise;
  std::mt19937 random(1);
  for (int i = 0; i < 1'000'000; ++i) noise += static_cast<char>(random());
  for (int i = 0; i < 100; ++i) packed.write(noise.substr(static_cast<size_t>(i) * 10'000, 10'000));
  packed.commit();
  std::string file(*storage_for("mem://").size("mem://w"), ' ');
  storage_for("mem://").read("mem://w", 0, std::as_writable_bytes(std::span(file)));
  file.resize(file.size() - 1000);
  EXPECT_THAT(read_all(file).failure, HasSubstr("mem://r: gzip data end early"));
  Reading r = read_all(file, true);
  EXPECT_EQ(r.failure, "");
  EXPECT_GE(r.records.size(), 50u);
  EXPECT_EQ(r.corrupt, 1u);
}

TEST(tfrecord, EveryFlippedBitIsFound) {
  std::string file = three();
  for (size_t i = 0; i < file.size() * 8; ++i) {
    std::string damaged = file;
    damaged[i / 8] = static_cast<char>(damaged[i / 8] ^ (1 << i % 8));
    EXPECT_THAT(read_all(damaged).failure, HasSubstr(": record ")) << "bit " << i;
    Reading r = read_all(damaged, true);
    EXPECT_EQ(r.records.size(), 2u) << "bit " << i;
    EXPECT_EQ(r.corrupt, 1u) << "bit " << i;
  }
}

TEST(tfrecord, AnyBytesAreReadOrRefused) {
  std::mt19937 random(3);
  for (int i = 0; i < 2'000; ++i) {
    std::string file = three();
    for (unsigned edits = random() % 4; edits > 0; --edits) {
      size_t at = random() % file.size();
      if (random() % 2)
        file.erase(at, random() % 9);
      else
        file.insert(at, 1, static_cast<char>(random()));
      if (file.empty()) break;
    }
    read_all(file);
    EXPECT_LE(read_all(file, true).records.size(), 3u);
  }
}

}  // namespace
}  // namespace bertrain
