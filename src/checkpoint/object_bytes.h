// The bytes of one object at any offset: mapped into memory when it is a local file, read
// otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace bertrain {

class ObjectBytes {
 public:
  explicit ObjectBytes(std::string_view uri);  // throws Error when the object is absent
  uint64_t size() const { return size_; }
  const std::string& uri() const { return uri_; }
  // `bytes` bytes from `offset`, at an address that is a multiple of `alignment` (a power of two up
  // to 64). What reaches beyond the end is an Error: "truncated: expected N bytes, found M". The
  // memory outlives this object.
  std::shared_ptr<const std::byte[]> slice(uint64_t offset, uint64_t bytes, size_t alignment) const;

 private:
  std::string uri_;
  uint64_t size_ = 0;
  std::shared_ptr<const std::byte[]> mapped_;  // null: not a local file
};

}  // namespace bertrain
