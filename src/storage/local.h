// Files of this machine under the rules of an object store: whole objects, listed by prefix, no
// directories to make.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "storage/storage.h"

namespace bertrain {

// create() makes missing parent directories and writes a hidden file beside the target, which
// commit() syncs and renames; leftovers of killed processes in that directory are removed first. A
// target that is a device or a pipe
// (/dev/stdout) is written in place. A symbolic link is followed, so its target is what is
// replaced.
class LocalStorage : public Storage {
 public:
  std::optional<uint64_t> size(std::string_view uri) override;  // nullopt for a directory too
  void read(std::string_view uri, uint64_t offset, std::span<std::byte> into) override;
  std::unique_ptr<Writer> create(std::string_view uri, Exists exists) override;
  std::vector<Object> list(std::string_view prefix) override;
  void remove(std::string_view uri) override;
};

// The bytes of a file, device or pipe from its start, as they are; "-" is standard input.
std::unique_ptr<ByteReader> read_local_bytes(std::string_view path);

// The files (never directories) that a shell pattern matches, sorted by byte.
std::vector<std::string> glob_local(const std::string& pattern);

}  // namespace bertrain
