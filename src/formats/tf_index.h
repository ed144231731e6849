// The sorted table of a TF checkpoint's .index file: keys and values in checked, prefix-compressed
// blocks. It is LevelDB's table format without compression. Grammar and a worked example:
// docs/formats/tf_bundle.md.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bertrain {

struct IndexEntry {
  std::string key, value;
};

constexpr size_t kTableFooterBytes = 48;

// Whether these last kTableFooterBytes of a file end a table.
bool ends_a_table(std::span<const std::byte> footer);

// All entries of a whole file, in ascending order of keys. `place` names the file in errors. Throws
// Error for a checksum that does not hold, sizes or keys that cannot be, and keys that repeat.
std::vector<IndexEntry> read_table(std::span<const std::byte> file, std::string_view place);

// The bytes of a table. Keys must ascend (bytes compared unsigned). `block_bytes` is the size from
// which a block is full; the default is TF's own.
std::string write_table(const std::vector<IndexEntry>& entries, size_t block_bytes = 256 << 10);

}  // namespace bertrain
