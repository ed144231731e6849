// The table of a TF index file: a reader that trusts no size in it, and a writer equal to TF's.
#include "formats/tf_index.h"

#include <algorithm>
#include <cstdint>

#include "base/error.h"
#include "formats/crc32c.h"

namespace bertrain {
namespace {

constexpr uint64_t kMagic = 0xdb4775248b80fb57ull;
constexpr size_t kHandleArea = 40;    // two block handles, padded
constexpr size_t kTrailerBytes = 5;   // compression type, masked CRC-32C of contents and type
constexpr int kRestartInterval = 16;  // entries between keys stored whole
constexpr size_t kMaxKeyBytes = 1 << 16;
// Prefix compression lets few bytes stand for long keys; real files stay below 10 times their size.
constexpr size_t kMaxExpansion = 64;

struct Handle {
  uint64_t offset = 0, size = 0;
};

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

uint64_t fixed(std::string_view bytes) {  // little endian, of 4 or 8 bytes
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

void put_fixed(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

class TableReader {
 public:
  TableReader(std::span<const std::byte> file, std::string_view place)
      : file_(text_of(file)), place_(place) {}

  std::vector<IndexEntry> read() {
    if (file_.size() < kTableFooterBytes) {
      throw bad(fmt::format("truncated: expected {} bytes at least, found {}", kTableFooterBytes,
                            file_.size()));
    }
    std::string_view footer = file_.substr(file_.size() - kTableFooterBytes);
    if (fixed(footer.substr(kHandleArea)) != kMagic) {
      throw bad("not a checkpoint index: its last 8 bytes are not a table's (is it truncated?)");
    }
    std::string_view handles = footer.substr(0, kHandleArea);
    handle(handles);  // of the block of meta data, which is always empty
    std::vector<IndexEntry> blocks, entries;
    read_block(handle(handles), "index block", blocks);
    for (const IndexEntry& block : blocks) {
      std::string_view value = block.value;
      read_block(handle(value), "data block", entries);
    }
    return entries;
  }

 private:
  Error bad(std::string_view what) const { return error("{}: {}", place_, what); }

  uint64_t varint(std::string_view& from) const {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && !from.empty(); shift += 7) {
      auto byte = static_cast<unsigned char>(from.front());
      from.remove_prefix(1);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    throw bad("damaged: a number in it does not end");
  }

  Handle handle(std::string_view& from) const {
    Handle h;
    h.offset = varint(from);
    h.size = varint(from);
    return h;
  }

  // The contents of a block, its size and checksum checked.
  std::string_view block(Handle h, std::string_view kind) const {
    size_t limit = file_.size() - kTableFooterBytes;
    if (h.offset > limit || h.size > limit - h.offset ||
        kTrailerBytes > limit - h.offset - h.size) {
      throw bad(fmt::format("damaged: a {} of {} bytes at {} does not fit into the file's {}", kind,
                            h.size, h.offset, file_.size()));
    }
    std::string_view whole = file_.substr(h.offset, h.size + 1);
    auto stored = static_cast<uint32_t>(fixed(file_.substr(h.offset + h.size + 1, 4)));
    if (crc32c(std::as_bytes(std::span(whole))) != unmask_crc(stored)) {
      throw bad(fmt::format("damaged: the checksum of the {} at {} does not hold", kind, h.offset));
    }
    if (whole.back() != 0) {
      throw bad(fmt::format("the {} at {} is compressed (type {}), which TF checkpoints are not",
                            kind, h.offset, int{whole.back()}));
    }
    return whole.substr(0, h.size);
  }

  void read_block(Handle h, std::string_view kind, std::vector<IndexEntry>& into) {
    std::string_view contents = block(h, kind);
    uint64_t restarts = contents.size() < 4 ? 0 : fixed(contents.substr(contents.size() - 4));
    if (restarts == 0 || restarts > (contents.size() - 4) / 4) {
      throw bad(fmt::format("damaged: the {} at {} has no place for its {} restarts", kind,
                            h.offset, restarts));
    }
    std::string_view rest = contents.substr(0, contents.size() - 4 - 4 * restarts);
    std::string key;
    while (!rest.empty()) {
      uint64_t shared = varint(rest), unshared = varint(rest), value = varint(rest);
      if (shared > key.size() || unshared > rest.size() || value > rest.size() - unshared ||
          shared + unshared > kMaxKeyBytes) {
        throw bad(
            fmt::format("damaged: an entry of the {} at {} does not fit into it", kind, h.offset));
      }
      key.replace(shared, std::string::npos, rest.substr(0, unshared));
      if (!into.empty() && into.back().key >= key) {
        throw bad(fmt::format("damaged: the keys of the {} at {} do not ascend", kind, h.offset));
      }
      expanded_ += key.size() + value;
      if (expanded_ / kMaxExpansion > file_.size()) {
        throw bad("damaged: its keys expand to far more than the file");
      }
      into.push_back({key, std::string(rest.substr(unshared, value))});
      rest.remove_prefix(unshared + value);
    }
  }

  std::string_view file_;
  std::string_view place_;
  size_t expanded_ = 0;  // bytes of all keys and values so far
};

// One block while it is filled.
class Block {
 public:
  explicit Block(int interval) : interval_(interval) {}

  void add(std::string_view key, std::string_view value) {
    size_t shared = 0;
    if (since_restart_ == interval_) {
      restarts_.push_back(bytes_.size());
      since_restart_ = 0;
    } else {
      auto [a, b] = std::mismatch(key.begin(), key.end(), last_.begin(), last_.end());
      shared = static_cast<size_t>(a - key.begin());
    }
    put_varint(bytes_, shared);
    put_varint(bytes_, key.size() - shared);
    put_varint(bytes_, value.size());
    bytes_ += key.substr(shared);
    bytes_ += value;
    last_ = key;
    ++since_restart_;
  }

  size_t size() const { return bytes_.size() + 4 * restarts_.size() + 4; }
  bool empty() const { return bytes_.empty(); }

  // Appends the block to `file` and begins the next one; returns its handle, encoded.
  std::string flush(std::string& file) {
    for (size_t restart : restarts_) put_fixed(bytes_, restart, 4);
    put_fixed(bytes_, restarts_.size(), 4);
    std::string handle;
    put_varint(handle, file.size());
    put_varint(handle, bytes_.size());
    bytes_ += '\0';  // not compressed
    uint32_t crc = crc32c(std::as_bytes(std::span(bytes_)));
    file += bytes_;
    put_fixed(file, mask_crc(crc), 4);
    *this = Block(interval_);
    return handle;
  }

 private:
  int interval_;
  int since_restart_ = 0;
  std::string bytes_, last_;
  std::vector<size_t> restarts_{0};
};

// A short key k with last ≤ k < next, as LevelDB chooses it.
std::string separator(std::string_view last, std::string_view next) {
  auto [a, b] = std::mismatch(last.begin(), last.end(), next.begin(), next.end());
  if (a == last.end() || b == next.end()) return std::string(last);
  auto low = static_cast<unsigned char>(*a), high = static_cast<unsigned char>(*b);
  if (low == 0xff || low + 1 >= high) return std::string(last);
  return std::string(last.begin(), a) + static_cast<char>(low + 1);
}

// A short key that is not below `last`.
std::string successor(std::string_view last) {
  for (size_t i = 0; i < last.size(); ++i) {
    auto byte = static_cast<unsigned char>(last[i]);
    if (byte != 0xff) return std::string(last.substr(0, i)) + static_cast<char>(byte + 1);
  }
  return std::string(last);
}

}  // namespace

bool ends_a_table(std::span<const std::byte> footer) {
  return footer.size() == kTableFooterBytes && fixed(text_of(footer).substr(kHandleArea)) == kMagic;
}

std::vector<IndexEntry> read_table(std::span<const std::byte> file, std::string_view place) {
  return TableReader(file, place).read();
}

std::string write_table(const std::vector<IndexEntry>& entries, size_t block_bytes) {
  std::string file;
  Block data(kRestartInterval), index(1), meta(kRestartInterval);
  for (size_t i = 0; i < entries.size(); ++i) {
    bool last = i + 1 == entries.size();
    check(last || entries[i].key < entries[i + 1].key, "the keys of a table must ascend");
    data.add(entries[i].key, entries[i].value);
    if (last) {
      index.add(successor(entries[i].key), data.flush(file));
    } else if (data.size() >= block_bytes) {
      index.add(separator(entries[i].key, entries[i + 1].key), data.flush(file));
    }
  }
  std::string footer = meta.flush(file);
  footer += index.flush(file);
  footer.resize(kHandleArea);
  put_fixed(footer, kMagic, 8);
  return file + footer;
}

}  // namespace bertrain
