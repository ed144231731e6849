// Where the files of a zip archive lie in it, for archives whose files are stored as they are.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace bertrain {

struct ZipEntry {
  std::string name;
  uint64_t offset = 0;  // of its bytes in the archive
  uint64_t bytes = 0;
  uint32_t crc32 = 0;  // of its bytes; some writers leave 0 there
};

// `bytes` bytes of the archive from `offset`, which are within it.
using ReadRange = std::function<std::string(uint64_t offset, uint64_t bytes)>;

// The entries of the archive of `size` bytes, in the order of its directory, with the 64-bit fields
// of large archives. Every place and size is checked against the archive. Compressed or encrypted
// entries, two of one name and archives of several parts are an Error; callers put the file's name
// in front with Error::within. Format: PKWARE's APPNOTE.TXT, 4.3.
std::vector<ZipEntry> read_zip_directory(uint64_t size, const ReadRange& read);

bool looks_like_zip(std::string_view start);

// The CRC-32 of zip and gzip.
uint32_t zip_crc32(std::string_view bytes);

}  // namespace bertrain
