// Reading from the start: lines, bytes, gzip by content, damage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error.h"
#include "base/error_message.h"
#include "storage/gzip.h"
#include "storage/local.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> lines_of(const std::string& uri) {
  std::unique_ptr<LineReader> reader = read_lines(uri);
  std::vector<std::string> lines;
  for (std::string line; reader->next(line);) {
    lines.push_back(line);
    EXPECT_EQ(reader->line_number(), lines.size());
  }
  EXPECT_EQ(reader->line_number(), lines.size());
  return lines;
}

std::string raw(const std::string& uri) {
  std::string bytes(*storage_for(uri).size(uri), ' ');
  storage_for(uri).read(uri, 0, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

std::string gzip_of(std::string_view text) {
  auto writer = pack_gzip(storage_for("mem://").create("mem://packed", Exists::replace));
  writer->append(std::as_bytes(std::span(text)));
  writer->commit();
  return raw("mem://packed");
}

std::string failure_of(const std::string& uri) {
  return message_of([&] { read_text(uri); });
}

TEST(read_lines, SplitsOnNewlineOnly) {
  write_text("mem://t",
             "a\r\n\n b\x0c\xe2\x80\xa8"
             "c\nlast");
  EXPECT_THAT(lines_of("mem://t"), ElementsAre("a\r", "",
                                               " b\x0c\xe2\x80\xa8"
                                               "c",
                                               "last"));
  write_text("mem://t", "a\n");
  EXPECT_THAT(lines_of("mem://t"), ElementsAre("a"));
  write_text("mem://t", "");
  EXPECT_THAT(lines_of("mem://t"), ElementsAre());
  write_text("mem://t", "\n\n");
  EXPECT_THAT(lines_of("mem://t"), ElementsAre("", ""));
  write_text("mem://t", std::string("a\0b\n\0", 5));
  EXPECT_THAT(lines_of("mem://t"), ElementsAre(std::string("a\0b", 3), std::string("\0", 1)));
}

TEST(read_lines, ALineMayBeLongerThanABlock) {
  std::string large(1'000'000, 'x');
  write_text("mem://t", large + "\n" + large + "y");
  EXPECT_THAT(lines_of("mem://t"), ElementsAre(large, large + "y"));
}

TEST(read_lines, APipeGivesALineAsSoonAsItIsThere) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "x\n", 2), 2);
  auto reader = read_lines("/proc/self/fd/" + std::to_string(ends[0]));
  std::string line;
  ASSERT_TRUE(reader->next(line));  // would wait for ever if more were asked for
  EXPECT_EQ(line, "x");
  ASSERT_EQ(::write(ends[1], "yz", 2), 2);
  ::close(ends[1]);
  ASSERT_TRUE(reader->next(line));
  EXPECT_EQ(line, "yz");
  EXPECT_FALSE(reader->next(line));
  ::close(ends[0]);
}

TEST(gzip, IsRecognisedByContent) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += std::to_string(i * 7919 % 10007) + "\n";
  write_text("mem://z", gzip_of(text));
  EXPECT_EQ(read_text("mem://z"), text);
  EXPECT_EQ(lines_of("mem://z").size(), 200'000u);
  write_text("mem://z", gzip_of("one\n") + gzip_of("") + gzip_of("two\n") + std::string(512, '\0'));
  EXPECT_THAT(lines_of("mem://z"), ElementsAre("one", "two"));
  write_text("mem://z", "\x1f\x8b");  // too short to be gzip
  EXPECT_EQ(read_text("mem://z"), "\x1f\x8b");
  write_text("mem://z", "\x1f");
  EXPECT_EQ(read_text("mem://z"), "\x1f");
}

TEST(gzip, DamageIsNamed) {
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += std::to_string(i * 7919 % 10007) + "\n";
  std::string packed = gzip_of(text);
  write_text("mem://z", packed.substr(0, packed.size() - 7));
  EXPECT_THAT(failure_of("mem://z"), HasSubstr("mem://z: gzip data end early"));
  write_text("mem://z", packed + "tail");
  EXPECT_THAT(failure_of("mem://z"),
              HasSubstr("bytes that are not gzip follow the gzip data at byte " +
                        std::to_string(packed.size())));
  std::string flipped = packed;
  flipped[packed.size() - 6] ^= 1;  // in the CRC
  write_text("mem://z", flipped);
  EXPECT_THAT(failure_of("mem://z"), HasSubstr("gzip data are damaged"));
}

TEST(gzip, EveryFlippedByteIsAnErrorOrHarmless) {
  std::string text = "the quick brown fox jumps over the lazy dog, the quick brown fox sleeps";
  std::string packed = gzip_of(text);
  for (size_t i = 0; i < packed.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = packed;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      write_text("mem://z", damaged);
      // The header is not covered by the checksum, and without its first bytes the data are not
      // gzip.
      if (failure_of("mem://z").empty() && i >= 10) ADD_FAILURE() << "byte " << i << " bit " << bit;
    }
  }
}

TEST(read_bytes, FewerThanAskedOnlyAtTheEnd) {
  write_text("mem://t", "0123456789");
  std::unique_ptr<ByteReader> reader = read_bytes("mem://t");
  std::string part(4, ' ');
  EXPECT_EQ(reader->read(std::as_writable_bytes(std::span(part))), 4u);
  EXPECT_EQ(part, "0123");
  EXPECT_EQ(reader->read(std::as_writable_bytes(std::span(part))), 4u);
  EXPECT_EQ(reader->read(std::as_writable_bytes(std::span(part))), 2u);
  EXPECT_EQ(reader->read(std::as_writable_bytes(std::span(part))), 0u);
}

}  // namespace
}  // namespace bertrain
