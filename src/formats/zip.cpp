// Zip archives: the end record, the directory, and the header in front of each entry.
#include "formats/zip.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/quote.h"

namespace bertrain {
namespace {

constexpr std::string_view kEntryMark = "PK\x03\x04", kDirectoryMark = "PK\x01\x02",
                           kEndMark = "PK\x05\x06", kEnd64Mark = "PK\x06\x06",
                           kLocatorMark = "PK\x06\x07";
constexpr uint64_t kEntryHeader = 30, kDirectoryHeader = 46, kEnd = 22, kEnd64 = 56, kLocator = 20;
constexpr uint64_t kMostComment = 65535;
constexpr uint64_t kMostDirectory = uint64_t{64} << 20;  // half a million entries
constexpr uint32_t kIn64 = 0xffffffff;                   // the value is in the 64-bit field
constexpr uint64_t kExtra64 = 1;                         // the extra field with the 64-bit values

// A number of `bytes` bytes at a position that is within the text.
uint64_t number(std::string_view text, size_t at, int bytes) {
  uint64_t value = 0;
  for (int i = bytes - 1; i >= 0; --i) {
    value = value << 8 | static_cast<unsigned char>(text[at + static_cast<size_t>(i)]);
  }
  return value;
}

bool fits(uint64_t offset, uint64_t bytes, uint64_t size) {
  return offset <= size && bytes <= size - offset;
}

struct Directory {
  uint64_t offset = 0, bytes = 0, entries = 0;
};

Directory find_directory(uint64_t size, const ReadRange& read) {
  uint64_t tail_size = std::min(size, kEnd + kMostComment), tail_at = size - tail_size;
  std::string tail = read(tail_at, tail_size);
  // The last end record whose comment reaches to the end of the file.
  size_t at = std::string::npos;
  for (size_t from = tail.size(); from > 0;) {
    size_t found = tail.rfind(kEndMark, from - 1);
    if (found == std::string::npos) break;
    if (tail.size() - found >= kEnd && number(tail, found + 20, 2) == tail.size() - found - kEnd) {
      at = found;
      break;
    }
    from = found;
  }
  if (at == std::string::npos) {
    throw error("truncated: no directory at the end of the zip archive; fetch the file again");
  }
  if (number(tail, at + 4, 2) != 0 || number(tail, at + 6, 2) != 0) {
    throw error("a zip archive of several parts, which is not read");
  }
  Directory directory{number(tail, at + 16, 4), number(tail, at + 12, 4), number(tail, at + 10, 2)};
  if (at >= kLocator && tail.substr(at - kLocator, 4) == kLocatorMark) {
    uint64_t place = number(tail, at - kLocator + 8, 8);
    if (!fits(place, kEnd64, size)) throw error("its 64-bit end record is not within the file");
    std::string end = read(place, kEnd64);
    if (!end.starts_with(kEnd64Mark))
      throw error("its 64-bit end record is not where it should be");
    directory = {number(end, 48, 8), number(end, 40, 8), number(end, 32, 8)};
  }
  if (!fits(directory.offset, directory.bytes, size) || directory.bytes > kMostDirectory) {
    throw error("its directory of {} bytes at {} is not within the file's {} bytes",
                directory.bytes, directory.offset, size);
  }
  if (directory.entries > directory.bytes / kDirectoryHeader) {
    throw error("its directory of {} bytes cannot hold {} entries", directory.bytes,
                directory.entries);
  }
  return directory;
}

// The 64-bit values of an entry stand for those fields that are kIn64, in this order.
struct Wide {
  uint64_t bytes, packed, header;
};

void widen(Wide& wide, std::string_view extra, std::string_view name) {
  auto is_wide = [](uint64_t value) { return value == kIn64; };
  if (!is_wide(wide.bytes) && !is_wide(wide.packed) && !is_wide(wide.header)) return;
  while (extra.size() >= 4) {
    uint64_t id = number(extra, 0, 2), length = number(extra, 2, 2);
    extra.remove_prefix(4);
    if (length > extra.size()) break;
    if (id == kExtra64) {
      std::string_view values = extra.substr(0, length);
      for (uint64_t* value : {&wide.bytes, &wide.packed, &wide.header}) {
        if (!is_wide(*value)) continue;
        if (values.size() < 8) throw error("{}: its 64-bit sizes are cut off", quote(name));
        *value = number(values, 0, 8);
        values.remove_prefix(8);
      }
      return;
    }
    extra.remove_prefix(length);
  }
  throw error("{}: its 64-bit sizes are missing", quote(name));
}

}  // namespace

std::vector<ZipEntry> read_zip_directory(uint64_t size, const ReadRange& read) {
  Directory directory = find_directory(size, read);
  std::string text = read(directory.offset, directory.bytes);
  std::vector<ZipEntry> entries;
  std::set<std::string> names;
  size_t at = 0;
  for (uint64_t i = 0; i < directory.entries; ++i) {
    if (!fits(at, kDirectoryHeader, text.size()) || text.substr(at, 4) != kDirectoryMark) {
      throw error("its directory has no entry {} of {}", i + 1, directory.entries);
    }
    uint64_t flags = number(text, at + 8, 2), method = number(text, at + 10, 2);
    uint64_t name_bytes = number(text, at + 28, 2), extra = number(text, at + 30, 2);
    uint64_t comment = number(text, at + 32, 2);
    if (!fits(at + kDirectoryHeader, name_bytes + extra + comment, text.size())) {
      throw error("its directory's entry {} reaches beyond the directory", i + 1);
    }
    ZipEntry entry;
    entry.crc32 = static_cast<uint32_t>(number(text, at + 16, 4));
    entry.name = text.substr(at + kDirectoryHeader, name_bytes);
    Wide wide{number(text, at + 24, 4), number(text, at + 20, 4), number(text, at + 42, 4)};
    widen(wide, std::string_view(text).substr(at + kDirectoryHeader + name_bytes, extra),
          entry.name);
    if ((flags & 1) != 0) throw error("{} is encrypted, which is not read", quote(entry.name));
    if (method != 0 || wide.bytes != wide.packed) {
      throw error("{} is compressed, which is not read; pack the files again without compression",
                  quote(entry.name));
    }
    // The header in front of the entry has a name and extra field of its own, as long as it likes.
    std::string header;
    if (fits(wide.header, kEntryHeader, size)) header = read(wide.header, kEntryHeader);
    if (!header.starts_with(kEntryMark)) {
      throw error("{} is not at byte {}, where the directory has it", quote(entry.name),
                  wide.header);
    }
    uint64_t skipped = kEntryHeader + number(header, 26, 2) + number(header, 28, 2);
    entry.bytes = wide.bytes;
    if (!fits(wide.header, skipped, size) || !fits(wide.header + skipped, entry.bytes, size)) {
      throw error("truncated: {} has {} bytes from byte {}, and the file {}", quote(entry.name),
                  entry.bytes, wide.header, size);
    }
    entry.offset = wide.header + skipped;
    if (!names.insert(entry.name).second) throw error("{} is there twice", quote(entry.name));
    entries.push_back(std::move(entry));
    at += kDirectoryHeader + name_bytes + extra + comment;
  }
  return entries;
}

bool looks_like_zip(std::string_view start) { return start.starts_with(kEntryMark); }

uint32_t zip_crc32(std::string_view bytes) {
  return crc32_gzip_refl(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

}  // namespace bertrain
