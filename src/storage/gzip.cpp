// Gzip over zlib.
#include "storage/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <vector>

#include "base/error.h"

namespace bertrain {
namespace {

constexpr size_t kBlockBytes = size_t{256} << 10;
constexpr int kGzipWindow = 15 + 16;  // the largest window, gzip's wrapping

class GzipReader : public ByteReader {
 public:
  GzipReader(std::string_view name, std::unique_ptr<ByteReader> packed)
      : name_(name), packed_(std::move(packed)), input_(kBlockBytes) {
    read_start();
    // The method (8, deflate) and the reserved flags are checked too: a text or a TFRecord hardly
    // looks like this.
    auto byte = [&](size_t i) { return std::to_integer<unsigned>(input_[i]); };
    is_gzip_ = available_ >= 4 && byte(0) == 0x1f && byte(1) == 0x8b && byte(2) == 8 &&
               (byte(3) & 0xe0) == 0;
    if (is_gzip_ && inflateInit2(&stream_, kGzipWindow) != Z_OK) throw std::bad_alloc();
  }
  ~GzipReader() override {
    if (is_gzip_) inflateEnd(&stream_);
  }

  size_t read(std::span<std::byte> into) override {
    if (is_gzip_) return read_packed(into);
    size_t first = take(into);
    return first == into.size() ? first : first + packed_->read(into.subspan(first));
  }

  size_t read_some(std::span<std::byte> into) override {
    if (is_gzip_) return read_packed(into);
    size_t first = take(into);
    return first > 0 ? first : packed_->read_some(into);
  }

 private:
  // Enough bytes to tell gzip, and no more than needed: a terminal's first line may be one letter.
  void read_start() {
    do {
      size_t n = packed_->read_some(std::span(input_).subspan(available_));
      if (n == 0) break;
      available_ += n;
    } while (available_ < 4 && input_[0] == std::byte{0x1f});
    total_ = available_;
  }

  size_t take(std::span<std::byte> into) {
    size_t n = std::min(available_, into.size());
    std::copy_n(input_.begin() + static_cast<ptrdiff_t>(position_), n, into.begin());
    position_ += n;
    available_ -= n;
    return n;
  }

  size_t read_packed(std::span<std::byte> into) {
    size_t done = 0;
    while (done < into.size() && !ended_) {
      if (available_ == 0) refill();
      if (available_ == 0) {
        throw error("{}: gzip data end early, after {} bytes; the file is truncated", name_,
                    total_);
      }
      stream_.next_in = reinterpret_cast<Bytef*>(input_.data() + position_);
      stream_.avail_in = static_cast<uInt>(available_);
      uInt room = static_cast<uInt>(std::min<size_t>(into.size() - done, 1u << 30));
      stream_.next_out = reinterpret_cast<Bytef*>(into.data() + done);
      stream_.avail_out = room;
      int code = inflate(&stream_, Z_NO_FLUSH);
      done += room - stream_.avail_out;
      position_ += available_ - stream_.avail_in;
      available_ = stream_.avail_in;
      if (code == Z_STREAM_END) {
        start_next_member();
      } else if (code != Z_OK) {
        throw error("{}: gzip data are damaged near byte {}{}{}", name_, total_ - available_,
                    stream_.msg ? ": " : "", stream_.msg ? stream_.msg : "");
      }
    }
    return done;
  }

  void start_next_member() {
    for (;;) {
      if (available_ == 0) refill();
      if (available_ == 0) {
        ended_ = true;
        return;
      }
      if (input_[position_] != std::byte{0}) break;
      ++position_;
      --available_;
    }
    if (input_[position_] != std::byte{0x1f}) {
      throw error("{}: bytes that are not gzip follow the gzip data at byte {}", name_,
                  total_ - available_);
    }
    inflateReset(&stream_);
  }

  void refill() {
    position_ = 0;
    available_ = packed_->read(input_);
    total_ += available_;
  }

  std::string name_;
  std::unique_ptr<ByteReader> packed_;
  std::vector<std::byte> input_;
  size_t position_ = 0, available_ = 0;  // what of input_ is not used yet
  uint64_t total_ = 0;                   // packed bytes read
  bool is_gzip_ = false, ended_ = false;
  z_stream stream_ = {};
};

class GzipWriter : public Writer {
 public:
  explicit GzipWriter(std::unique_ptr<Writer> to) : to_(std::move(to)), output_(kBlockBytes) {
    if (deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
      throw std::bad_alloc();
    }
  }
  ~GzipWriter() override { deflateEnd(&stream_); }

  void append(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      size_t part = std::min<size_t>(bytes.size(), 1u << 30);
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
      stream_.avail_in = static_cast<uInt>(part);
      while (stream_.avail_in > 0) pack(Z_NO_FLUSH);
      bytes = bytes.subspan(part);
    }
  }

  void settle() override {
    finish();
    to_->settle();
  }

  void commit() override {
    finish();
    to_->commit();
  }

 private:
  void finish() {
    while (!finished_) finished_ = pack(Z_FINISH) == Z_STREAM_END;
  }

  int pack(int flush) {
    stream_.next_out = reinterpret_cast<Bytef*>(output_.data());
    stream_.avail_out = static_cast<uInt>(output_.size());
    int code = deflate(&stream_, flush);
    check(code == Z_OK || code == Z_STREAM_END, "deflate takes what it is given");
    to_->append({output_.data(), output_.size() - stream_.avail_out});
    return code;
  }

  std::unique_ptr<Writer> to_;
  std::vector<std::byte> output_;
  z_stream stream_ = {};
  bool finished_ = false;
};

}  // namespace

std::unique_ptr<ByteReader> unpack_gzip(std::string_view name, std::unique_ptr<ByteReader> packed) {
  return std::make_unique<GzipReader>(name, std::move(packed));
}

std::unique_ptr<Writer> pack_gzip(std::unique_ptr<Writer> to) {
  return std::make_unique<GzipWriter>(std::move(to));
}

}  // namespace bertrain
