// Zip directories: made here field by field, with 64-bit sizes, and broken in each of them.
#include "formats/zip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/error_message.h"

namespace bertrain {
namespace {

using testing::HasSubstr;

std::string le(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

struct Made {
  uint64_t flags = 0, method = 0, size = 5, packed = 5, header = 0, entries = 1, shift = 0;
  bool wide = false;  // sizes in 64-bit fields, and a 64-bit end record
  std::string comment = {};
};

// One entry "a/x" of the bytes "hello", with an extra field of 3 bytes in front of them.
std::string archive(const Made& m) {
  std::string name = "a/x", content = "hello";
  uint32_t crc = zip_crc32(content);
  auto facts = [&](uint64_t packed, uint64_t size) {
    return le(m.flags, 2) + le(m.method, 2) + le(0, 4) + le(crc, 4) + le(packed, 4) + le(size, 4) +
           le(name.size(), 2);
  };
  std::string file =
      "PK\x03\x04" + le(20, 2) + facts(m.packed, m.size) + le(3, 2) + name + "xyz" + content;
  uint64_t directory_at = file.size();
  uint64_t all = 0xffffffff;
  std::string extra =
      m.wide ? le(1, 2) + le(24, 2) + le(m.size, 8) + le(m.packed, 8) + le(m.header, 8) : "";
  std::string directory = "PK\x01\x02" + le(20, 2) + le(20, 2) +
                          (m.wide ? facts(all, all) : facts(m.packed, m.size)) +
                          le(extra.size(), 2) + le(0, 2) + le(0, 2) + le(0, 2) + le(0, 4) +
                          le(m.wide ? all : m.header, 4) + name + extra;
  file += directory;
  if (m.wide) {
    uint64_t end_at = file.size();
    file += "PK\x06\x06" + le(44, 8) + le(45, 2) + le(45, 2) + le(0, 4) + le(0, 4) +
            le(m.entries, 8) + le(m.entries, 8) + le(directory.size(), 8) +
            le(directory_at + m.shift, 8);
    file += "PK\x06\x07" + le(0, 4) + le(end_at, 8) + le(1, 4);
  }
  file += "PK\x05\x06" + le(0, 2) + le(0, 2) + le(m.wide ? 0xffff : m.entries, 2) +
          le(m.wide ? 0xffff : m.entries, 2) + le(m.wide ? all : directory.size(), 4) +
          le(m.wide ? all : directory_at + m.shift, 4) + le(m.comment.size(), 2) + m.comment;
  return file;
}

std::vector<ZipEntry> read(const std::string& file) {
  return read_zip_directory(file.size(), [&](uint64_t offset, uint64_t bytes) {
    EXPECT_LE(offset + bytes, file.size());
    return file.substr(offset, bytes);
  });
}

std::string refused(const Made& m) {
  return message_of([&] { read(archive(m)); });
}

TEST(Zip, EntriesInBothSizes) {
  for (bool wide : {false, true}) {
    for (const std::string& comment :
         {std::string(), std::string("PK\x05\x06 and so on, for longer than it is")}) {
      std::string file = archive({.wide = wide, .comment = comment});
      std::vector<ZipEntry> entries = read(file);
      ASSERT_EQ(entries.size(), 1u);
      EXPECT_EQ(entries[0].name, "a/x");
      EXPECT_EQ(file.substr(entries[0].offset, entries[0].bytes), "hello");
      EXPECT_EQ(entries[0].crc32, 0x3610a686u);  // by Python's zlib.crc32(b"hello")
    }
  }
  EXPECT_TRUE(looks_like_zip(archive({})));
  EXPECT_FALSE(looks_like_zip("PK"));
}

TEST(Zip, WhatIsNotReadIsNamed) {
  EXPECT_THAT(refused({.flags = 1}), HasSubstr("'a/x' is encrypted"));
  EXPECT_THAT(refused({.method = 8}), HasSubstr("'a/x' is compressed"));
  EXPECT_THAT(refused({.packed = 4}), HasSubstr("'a/x' is compressed"));
  EXPECT_THAT(refused({.size = 500, .packed = 500}), HasSubstr("truncated: 'a/x' has 500 bytes"));
  EXPECT_THAT(refused({.size = ~uint64_t{0}, .packed = ~uint64_t{0}, .wide = true}),
              HasSubstr("truncated"));
  EXPECT_THAT(refused({.header = 1}), HasSubstr("'a/x' is not at byte 1"));
  EXPECT_THAT(refused({.header = ~uint64_t{0}, .wide = true}),
              HasSubstr("is not at byte 18446744073709551615"));
  EXPECT_THAT(refused({.entries = 2}), HasSubstr("cannot hold 2 entries"));
  EXPECT_THAT(refused({.entries = uint64_t{1} << 60, .wide = true}), HasSubstr("cannot hold"));
  EXPECT_THAT(refused({.shift = 1000}), HasSubstr("is not within the file's"));
  EXPECT_THAT(refused({.shift = 1}), HasSubstr("no entry 1 of 1"));
  EXPECT_THAT(refused({.size = 0xffffffff, .packed = 0xffffffff}),
              HasSubstr("its 64-bit sizes are missing"));
}

TEST(Zip, TruncatedAtEveryLength) {
  for (bool wide : {false, true}) {
    std::string file = archive({.wide = wide});
    for (size_t n = 0; n < file.size(); ++n) {
      EXPECT_THAT(message_of([&] { read(file.substr(0, n)); }), HasSubstr("truncated")) << n;
    }
  }
}

TEST(Zip, AnyByteFlipped) {
  for (bool wide : {false, true}) {
    std::string file = archive({.wide = wide});
    for (size_t n = 0; n < file.size(); ++n) {
      for (int bit = 0; bit < 8; ++bit) {
        std::string copy = file;
        copy[n] = static_cast<char>(copy[n] ^ (1 << bit));
        message_of([&] {
          for (const ZipEntry& e : read(copy)) {
            ASSERT_LE(e.offset, file.size());
            ASSERT_LE(e.bytes, file.size() - e.offset);
          }
        });
      }
    }
  }
}

}  // namespace
}  // namespace bertrain
