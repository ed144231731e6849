// Ids only, as fast as memory allows: ASCII words by a byte table, and a per-thread cache of raw
// words.
//
// Text repeats itself: a few thousand words are most of it. A raw word's ids depend on its bytes
// alone, so each thread keeps a table of one cache line a word (up to 24 bytes and 8 pieces),
// replaced in place. Entries carry the tokenizer's serial number, so that several tokenizers share
// the table and none has to be cleared.
#include <algorithm>
#include <cstring>
#include <memory>

#include "text/raw_words.h"
#include "text/tokenizer_tables.h"

namespace bertrain {
namespace {

constexpr size_t kKeyBytes = 24, kCachedIds = 8;
// 32768 lines, 2 MiB: about as fast as twice that, and a fifth faster than a quarter.
constexpr int kCacheBits = 15;

struct alignas(64) CacheLine {
  uint64_t key[3];  // the raw word's bytes, zeros after them
  uint8_t length, count;
  uint32_t serial;  // 0: empty
  int32_t ids[kCachedIds];
};
static_assert(sizeof(CacheLine) == 64);

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
    return (h ^ h >> 29) * 0x9FB21C651E98DF25u >> (64 - kCacheBits);
  }

  bool equals(const CacheLine& line, size_t length) const {
    return ((line.key[0] ^ words[0]) | (line.key[1] ^ words[1]) | (line.key[2] ^ words[2]) |
            (line.length ^ length)) == 0;
  }

  void fill(CacheLine& line, size_t length, uint32_t serial,
            const std::vector<int32_t>& ids) const {
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

struct ThreadMemory {
  std::unique_ptr<CacheLine[]> lines = std::make_unique<CacheLine[]>(size_t{1} << kCacheBits);
  WordScratch scratch;
  std::vector<int32_t> ids;
};

ThreadMemory& thread_memory() {
  thread_local ThreadMemory memory;
  return memory;
}

// Ids on their way to the caller's vector: a cached word's eight are copied whole, and only its own
// counted.
class Output {
 public:
  explicit Output(std::vector<int32_t>& ids) : ids_(ids) {}
  void put(int32_t id) {
    block_[count_++] = id;
    make_room();
  }
  void put(const CacheLine& line) {
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
    if (count_ > kBlock - kCachedIds) flush();
  }
  static constexpr size_t kBlock = 512;
  std::vector<int32_t>& ids_;
  size_t count_ = 0;
  int32_t block_[kBlock];
};

}  // namespace

void Tokenizer::append_ids(std::string_view text, std::vector<int32_t>& ids) const {
  tables_->each_part(text, [&](std::string_view part, int32_t special) {
    if (special >= 0) return ids.push_back(special);
    append_literal(part, ids);
  });
}

void Tokenizer::append_literal(std::string_view text, std::vector<int32_t>& ids) const {
  ThreadMemory& memory = thread_memory();
  const Tables& tables = *tables_;
  Output out(ids);

  auto compute = [&](ByteKind kind, std::string_view raw, std::string_view before) {
    memory.ids.clear();
    if (kind == ByteKind::letter) {
      tables.append_letters(raw, memory.scratch, memory.ids);
    } else {
      tables.append_raw_word(raw, before, memory.scratch, memory.ids);
    }
  };
  auto cached = [&](ByteKind kind, std::string_view raw) {
    Key key(raw, static_cast<size_t>(text.data() + text.size() - raw.data()));
    CacheLine& line = memory.lines[key.slot()];
    if (line.serial != tables.serial || !key.equals(line, raw.size())) {
      compute(kind, raw, {});
      if (memory.ids.size() > kCachedIds) return out.put(memory.ids);
      key.fill(line, raw.size(), tables.serial, memory.ids);
    }
    out.put(line);
  };
  each_raw_word(text, [&](ByteKind kind, std::string_view raw, std::string_view before) {
    if (kind == ByteKind::symbol)
      return out.put(tables.symbol_ids[static_cast<unsigned char>(raw[0])]);
    bool context =
        kind == ByteKind::other && tables.lower && !before.empty() && has_capital_sigma(raw);
    if (raw.size() <= kKeyBytes && !context) return cached(kind, raw);
    // Without this a line of one long run of letters would be normalized whole.
    if (kind == ByteKind::letter && raw.size() > tables.max_chars)
      return out.put(tables.wordpiece.unknown());
    compute(kind, raw, before);
    out.put(memory.ids);
  });
  out.flush();
}

}  // namespace bertrain
