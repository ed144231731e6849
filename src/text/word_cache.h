// Ids of words that were seen before: one table a thread, shared by all tokenizers of the process.
//
// Text repeats itself: a few thousand words are most of it. A word's ids depend on its bytes alone,
// so each thread keeps a table of one cache line a word (up to 24 bytes and 8 pieces), replaced in
// place. Entries carry the tokenizer's serial number, so that none has to be cleared.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace bertrain {

class WordCache {
 public:
  static constexpr size_t kKeyBytes = 24, kCachedIds = 8;

  struct alignas(64) Line {
    uint64_t key[3];  // the word's bytes, zeros after them
    uint8_t length, count;
    uint32_t serial;  // 0: empty
    int32_t ids[kCachedIds];
  };
  static_assert(sizeof(Line) == 64);

  struct Key {
    uint64_t words[3];

    // `readable` bytes may be read from where `raw` (1 … 24 bytes) starts.
    Key(std::string_view raw, size_t readable) {
      if (readable >= kKeyBytes) {
        std::memcpy(words, raw.data(), kKeyBytes);
      } else {
        std::memset(words, 0, kKeyBytes);
        std::memcpy(words, raw.data(), raw.size());
      }
      words[0] &= mask(raw.size(), 0), words[1] &= mask(raw.size(), 8),
          words[2] &= mask(raw.size(), 16);
    }

    size_t slot() const {
      uint64_t h = words[0] * 0x9E3779B97F4A7C15u ^ words[1] * 0xC2B2AE3D27D4EB4Fu ^
                   words[2] * 0x165667B19E3779F9u;
      return (h ^ h >> 29) * 0x9FB21C651E98DF25u >> (64 - kBits);
    }

    bool equals(const Line& line, size_t length) const {
      return ((line.key[0] ^ words[0]) | (line.key[1] ^ words[1]) | (line.key[2] ^ words[2]) |
              (line.length ^ length)) == 0;
    }

    void fill(Line& line, size_t length, uint32_t serial, const std::vector<int32_t>& ids) const {
      std::memcpy(line.key, words, sizeof line.key);
      line.length = static_cast<uint8_t>(length), line.count = static_cast<uint8_t>(ids.size());
      line.serial = serial;
      std::copy(ids.begin(), ids.end(), line.ids);
    }

   private:
    // Keeps the bytes of a word [from, from + 8) that are below `length`; little-endian.
    static uint64_t mask(size_t length, size_t from) {
      if (length >= from + 8) return ~uint64_t{0};
      if (length <= from) return 0;
      return ~uint64_t{0} >> (8 * (from + 8 - length));
    }
  };

  Line& line(const Key& key) { return lines_[key.slot()]; }

  static WordCache& of_thread() {
    thread_local WordCache cache;
    return cache;
  }
  // Tells one tokenizer's entries from all others' of the process.
  static uint32_t new_serial() {
    static std::atomic<uint32_t> given = 0;
    return ++given;
  }

 private:
  // 32768 lines, 2 MiB: about as fast as twice that, and a fifth faster than a quarter.
  static constexpr int kBits = 15;
  std::unique_ptr<Line[]> lines_ = std::make_unique<Line[]>(size_t{1} << kBits);
};

// Ids on their way to the caller's vector: a cached word's eight are copied whole, and only its own
// counted.
class IdOutput {
 public:
  explicit IdOutput(std::vector<int32_t>& ids) : ids_(ids) {}
  void put(int32_t id) {
    block_[count_++] = id;
    make_room();
  }
  void put(const WordCache::Line& line) {
    std::memcpy(block_ + count_, line.ids, sizeof line.ids);
    count_ += line.count;
    make_room();
  }
  void put(const std::vector<int32_t>& ids) {
    flush();
    ids_.insert(ids_.end(), ids.begin(), ids.end());
  }
  void flush() {
    ids_.insert(ids_.end(), block_, block_ + count_);
    count_ = 0;
  }

 private:
  void make_room() {
    if (count_ > kBlock - WordCache::kCachedIds) flush();
  }
  static constexpr size_t kBlock = 512;
  std::vector<int32_t>& ids_;
  size_t count_ = 0;
  int32_t block_[kBlock];
};

}  // namespace bertrain
