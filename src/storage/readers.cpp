// Objects read from the start: bytes, and lines.
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "storage/gzip.h"
#include "storage/local.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

constexpr size_t kBlockBytes = size_t{256} << 10;
constexpr size_t kMaxLine = size_t{1} << 30;  // a file without line ends must not fill the memory

// An object that offers ranged reads only.
class ObjectBytes : public ByteReader {
 public:
  explicit ObjectBytes(std::string_view uri) : uri_(uri) {
    std::optional<uint64_t> size = storage_for(uri).size(uri);
    if (!size) throw error("{}: no such object", uri);
    left_ = *size;
  }

  size_t read(std::span<std::byte> into) override {
    size_t n = static_cast<size_t>(std::min<uint64_t>(left_, into.size()));
    storage_for(uri_).read(uri_, offset_, into.first(n));
    offset_ += n;
    left_ -= n;
    return n;
  }

 private:
  std::string uri_;
  uint64_t offset_ = 0, left_ = 0;
};

class Lines : public LineReader {
 public:
  explicit Lines(std::string_view uri)
      : uri_(uri == "-" ? "standard input" : uri), bytes_(read_bytes(uri)), block_(kBlockBytes) {}

  bool next(std::string& line) override {
    line.clear();
    bool any = false;  // an empty rest after the last \n is no line
    for (;;) {
      if (position_ == filled_) {
        filled_ = bytes_->read_some(std::as_writable_bytes(std::span(block_)));
        position_ = 0;
        if (filled_ == 0) {
          if (any) ++number_;
          return any;
        }
      }
      any = true;
      const char* start = block_.data() + position_;
      size_t rest = filled_ - position_;
      const char* end = static_cast<const char*>(std::memchr(start, '\n', rest));
      if (line.size() > kMaxLine) {
        throw error("{}:{}: the line is longer than {} MiB; a text of lines is expected", uri_,
                    number_ + 1, kMaxLine >> 20);
      }
      line.append(start, end ? static_cast<size_t>(end - start) : rest);
      position_ += end ? static_cast<size_t>(end - start) + 1 : rest;
      if (end) {
        ++number_;
        return true;
      }
    }
  }

  uint64_t line_number() const override { return number_; }
  const std::string& uri() const override { return uri_; }

 private:
  std::string uri_;
  std::unique_ptr<ByteReader> bytes_;
  std::vector<char> block_;
  size_t position_ = 0, filled_ = 0;
  uint64_t number_ = 0;
};

}  // namespace

std::unique_ptr<ByteReader> read_bytes(std::string_view uri) {
  bool local = uri == "-" || dynamic_cast<LocalStorage*>(&storage_for(uri)) != nullptr;
  std::unique_ptr<ByteReader> bytes =
      local ? read_local_bytes(uri) : std::make_unique<ObjectBytes>(uri);
  return unpack_gzip(uri == "-" ? "standard input" : uri, std::move(bytes));
}

std::unique_ptr<LineReader> read_lines(std::string_view uri) {
  return std::make_unique<Lines>(uri);
}

}  // namespace bertrain
