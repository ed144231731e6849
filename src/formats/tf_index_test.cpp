// The index table: equal to TF's to the byte, and no damage to it goes unseen or crashes.
#include "formats/tf_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/error.h"
#include "base/rng.h"
#include "formats/crc32c.h"

namespace bertrain {
namespace {

std::span<const std::byte> bytes(const std::string& s) { return std::as_bytes(std::span(s)); }

std::string golden() {
  std::ifstream file(BERTRAIN_TEST_DATA "/tf1_pretrain/trained/model.ckpt-20.index",
                     std::ios::binary);
  std::stringstream all;
  all << file.rdbuf();
  return all.str();
}

std::vector<IndexEntry> many(int count) {
  std::vector<IndexEntry> entries;
  for (int i = 0; i < count; ++i) {
    entries.push_back(
        {fmt::format("layer_{:05}/kernel", i), std::string(i % 40, char('a' + i % 26))});
  }
  return entries;
}

// Sets the checksum of the block at [offset, offset + size + 1) right again.
void reseal(std::string& file, size_t offset, size_t size) {
  uint32_t crc = mask_crc(crc32c(bytes(file).subspan(offset, size + 1)));
  for (int i = 0; i < 4; ++i) file[offset + size + 1 + i] = static_cast<char>(crc >> (8 * i));
}

void expect_error(const std::string& file, const char* text) {
  try {
    read_table(bytes(file), "x.index");
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr(text));
  }
}

TEST(TfIndex, ReadsWhatTensorflowWrote) {
  auto entries = read_table(bytes(golden()), "golden");
  ASSERT_EQ(entries.size(), 140u);
  EXPECT_EQ(entries[0].key, "");
  EXPECT_EQ(entries[0].value, std::string("\x08\x01\x1a\x02\x08\x01", 6));
  EXPECT_EQ(entries[1].key, "bert/embeddings/LayerNorm/beta");
  EXPECT_EQ(entries[2].key, "bert/embeddings/LayerNorm/beta/adam_m");
  EXPECT_EQ(entries.back().key, "global_step");
}

TEST(TfIndex, WritesTheBytesThatTensorflowWrote) {
  std::string file = golden();
  EXPECT_EQ(write_table(read_table(bytes(file), "golden")), file);
}

TEST(TfIndex, RoundTripOverManyBlocks) {
  for (int count : {0, 1, 15, 16, 17, 1000}) {
    for (size_t block : {size_t{1}, size_t{100}, size_t{4096}}) {
      auto entries = many(count);
      auto back = read_table(bytes(write_table(entries, block)), "x");
      ASSERT_EQ(back.size(), entries.size());
      for (size_t i = 0; i < back.size(); ++i) {
        EXPECT_EQ(back[i].key, entries[i].key);
        EXPECT_EQ(back[i].value, entries[i].value);
      }
    }
  }
}

TEST(TfIndex, KeysWithEveryByte) {
  std::vector<IndexEntry> entries;
  for (int a = 0; a < 256; a += 5) entries.push_back({std::string(3, static_cast<char>(a)), "v"});
  entries.push_back({std::string(5, '\xff'), "v"});
  EXPECT_EQ(read_table(bytes(write_table(entries, 1)), "x").size(), entries.size());
}

TEST(TfIndex, SaysWhatIsWrong) {
  std::string file = write_table(many(100));
  expect_error("", "truncated: expected 48 bytes at least, found 0");
  expect_error(file.substr(0, file.size() - 1), "not a checkpoint index");
  std::string flipped = file;
  flipped[10] ^= 1;
  expect_error(flipped, "the checksum of the data block at 0 does not hold");
}

TEST(TfIndex, CraftedSizesAreErrors) {
  std::string file = golden();
  size_t size = 0x1260;  // the data block, from the handle in its index: e0 24
  auto crafted = [&](size_t at, const std::string& with) {
    std::string copy = file;
    copy.replace(at, with.size(), with);
    reseal(copy, 0, size);
    return copy;
  };
  expect_error(crafted(9, "\xff\xff\xff\xff\x0f"), "does not fit into it");   // shared
  expect_error(crafted(10, "\xff\xff\xff\xff\x0f"), "does not fit into it");  // unshared
  expect_error(crafted(11, "\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), "does not fit into it");
  expect_error(crafted(size - 4, "\xff\xff\xff\xff"), "no place for its 4294967295 restarts");
  expect_error(crafted(size - 4, std::string(4, '\0')), "no place for its 0 restarts");
  std::string compressed = file;
  compressed[size] = 1;
  reseal(compressed, 0, size);
  expect_error(compressed, "is compressed (type 1)");
}

// One long key and many entries of few bytes that repeat it would take 2000 times the file.
TEST(TfIndex, KeysThatExpandWithoutEndAreAnError) {
  std::vector<IndexEntry> entries;
  std::string prefix(60000, 'x');
  for (int i = 0; i < 4000; ++i) entries.push_back({prefix + fmt::format("{:04}", i), ""});
  std::string block;
  // Restarts would store every 16th key whole, so the file is large enough; without them it is not.
  EXPECT_NO_THROW(read_table(bytes(write_table(entries)), "x"));
  block = std::string("\x00\xe0\xd4\x03\x00", 5) + prefix;
  for (int i = 1; i < 20000; ++i) {
    block += std::string("\xe0\xd4\x03", 3) + std::string("\x02\x00", 2);
    block += static_cast<char>(i >> 8);
    block += static_cast<char>(i);
  }
  std::string file = write_table({{"", ""}});
  block += std::string("\0\0\0\0\1\0\0\0\0", 9);
  size_t size = block.size() - 1;
  block += "crc!";
  reseal(block, 0, size);
  std::string index = std::string("\0\1\4a\0", 5);
  for (size_t v = size; v; v >>= 7) index += static_cast<char>((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
  index[2] = static_cast<char>(index.size() - 4);
  size_t index_size = index.size() + 8;
  index += std::string("\0\0\0\0\1\0\0\0\0", 9) + "crc!";
  reseal(index, 0, index_size);
  std::string footer = std::string("\0\0", 2);
  for (size_t v : {size + 5, index_size}) {
    for (; v >= 0x80; v >>= 7) footer += static_cast<char>(v | 0x80);
    footer += static_cast<char>(v);
  }
  footer.resize(40);
  expect_error(block + index + footer + file.substr(file.size() - 8), "expand to far more");
}

// Any change to any byte is either seen or leads to entries; nothing else happens.
TEST(TfIndex, SurvivesMutations) {
  std::string file = golden();
  size_t size = 0x1260;
  int read = 0;
  for (uint64_t i = 0; i < 3000; ++i) {
    std::string copy = file;
    Block key = key_of(1, "mutations", 0);
    for (uint64_t n = below(key, 10 * i, 3) + 1, j = 1; j <= n; ++j) {
      size_t at = below(key, 10 * i + j, copy.size());
      copy[at] = static_cast<char>(below(key, 10 * i + j + 5, 256));
    }
    if (i % 3 != 0) reseal(copy, 0, size);
    if (i % 5 == 0) copy.resize(below(key, 10 * i + 9, copy.size()));
    try {
      read_table(bytes(copy), "x");
      ++read;
    } catch (const Error&) {
    }
  }
  EXPECT_GT(read, 0);
}

}  // namespace
}  // namespace bertrain
