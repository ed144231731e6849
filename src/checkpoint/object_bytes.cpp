// Bytes of an object: a private read-only mapping, or ranged reads.
#include "checkpoint/object_bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "base/array.h"
#include "base/error.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

// Null when the system cannot map it (a file system without mappings): then it is read.
// `size` becomes the size of what was opened, which a replacement under the same name cannot
// change.
std::shared_ptr<const std::byte[]> map_file(const std::string& path, uint64_t& size) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return nullptr;
  struct stat facts {};
  void* memory = MAP_FAILED;
  if (::fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0) {
    size = static_cast<uint64_t>(facts.st_size);
    memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  }
  ::close(file);
  if (memory == MAP_FAILED) return nullptr;
  size_t mapped = size;
  return {static_cast<const std::byte*>(memory),
          [mapped](const std::byte* p) { ::munmap(const_cast<std::byte*>(p), mapped); }};
}

}  // namespace

ObjectBytes::ObjectBytes(std::string_view uri) : uri_(uri) {
  std::optional<uint64_t> size = storage_for(uri).size(uri);
  if (!size) throw error("{}: no such file", uri);
  refuse_pipe(uri);  // opening it would wait for a writer
  size_ = *size;
  if (is_local(uri)) mapped_ = map_file(uri_, size_);
}

std::shared_ptr<const std::byte[]> ObjectBytes::slice(uint64_t offset, uint64_t bytes,
                                                      size_t alignment) const {
  if (offset > size_ || bytes > size_ - offset) {
    uint64_t expected = bytes > UINT64_MAX - offset ? UINT64_MAX : offset + bytes;
    throw error("{}: truncated: expected {} bytes, found {}", uri_, expected, size_);
  }
  if (mapped_) {
    const std::byte* start = mapped_.get() + offset;
    if (reinterpret_cast<uintptr_t>(start) % alignment == 0) return {mapped_, start};
  }
  ArrayType type{DType::u8, {static_cast<int64_t>(bytes)}};
  Array copy = make_array(type, [&](std::span<std::byte> into) {
    if (into.empty()) return;
    if (mapped_) {
      std::memcpy(into.data(), mapped_.get() + offset, into.size());
    } else {
      storage_for(uri_).read(uri_, offset, into);
    }
  });
  return copy.bytes;
}

}  // namespace bertrain
