// Framing and unframing of TFRecords.
#include "formats/tfrecord.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "formats/crc32c.h"

namespace bertrain {
namespace {

constexpr size_t kHeaderBytes = 12;  // u64 length, u32 masked CRC of it
constexpr size_t kFooterBytes = 4;   // u32 masked CRC of the record
constexpr size_t kBlockBytes = size_t{256} << 10;

template <class T>
T number_at(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

template <class T>
void append_number(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

uint32_t masked_crc(std::span<const std::byte> bytes) { return mask_crc(crc32c(bytes)); }

std::vector<std::byte> first_bytes(std::string_view uri, size_t count) {
  std::vector<std::byte> bytes(count);
  bytes.resize(read_bytes(uri)->read(bytes));
  return bytes;
}

}  // namespace

bool starts_like_tfrecord(std::string_view uri) {
  std::vector<std::byte> header = first_bytes(uri, kHeaderBytes);
  return header.size() == kHeaderBytes &&
         masked_crc({header.data(), 8}) == number_at<uint32_t>(header.data() + 8);
}

bool starts_like_text(std::string_view uri) {
  std::vector<std::byte> start = first_bytes(uri, kHeaderBytes);
  return !start.empty() && std::all_of(start.begin(), start.end(), [](std::byte b) {
    auto c = static_cast<unsigned char>(b);
    return c >= 0x20 || c == '\t' || c == '\n' || c == '\r';
  });
}

TfRecordReader::TfRecordReader(std::string_view uri, bool skip_corrupt, bool advise)
    : uri_(uri),
      skip_corrupt_(skip_corrupt),
      advise_(advise),
      bytes_(read_bytes(uri)),
      buffer_(kBlockBytes) {}

std::string TfRecordReader::place() const {
  return fmt::format("{}: record {} at byte {}", uri_, number_, offset_);
}

// Whether `count` bytes, at most a block, are at hand; fewer are left at the end of the file.
bool TfRecordReader::peek(size_t count) {
  if (end_ - begin_ >= count) return true;
  std::copy(buffer_.begin() + static_cast<ptrdiff_t>(begin_),
            buffer_.begin() + static_cast<ptrdiff_t>(end_), buffer_.begin());
  end_ -= begin_;
  begin_ = 0;
  try {
    if (!broken_) end_ += bytes_->read(std::span(buffer_).subspan(end_));
  } catch (const Error&) {
    // Damaged gzip: nothing behind it can be unpacked.
    if (!skip_corrupt_) throw;
    broken_ = true;
    if (!searching_) ++corrupt_;
    searching_ = true;
  }
  return end_ >= count;
}

void TfRecordReader::drop(size_t count) {
  begin_ += count;
  position_ += count;
}

void TfRecordReader::damaged(std::string_view what) {
  if (!skip_corrupt_) {
    throw error("{}: {}{}", place(), what,
                advise_ ? "; --skip_corrupt goes on at the next sound record" : "");
  }
  if (!searching_) ++corrupt_;
  searching_ = true;
}

bool TfRecordReader::next(std::string& record) {
  searching_ = false;
  for (;;) {
    uint64_t length;
    if (!read_header(length)) return false;
    if (read_payload(length, record)) return true;
  }
}

// Passes a sound header and gives its length; false at the end. After damage it is looked for byte
// by byte.
bool TfRecordReader::read_header(uint64_t& length) {
  if (!searching_) {
    ++number_;
    offset_ = position_;
  }
  for (;; drop(1)) {
    if (!peek(kHeaderBytes)) {
      size_t left = end_ - begin_;
      if (number_ == 1 && left == 0 && position_ == 0) {
        if (!skip_corrupt_) {
          throw error(
              "{}: the file is empty, and holds no record: leave it out{}", uri_,
              advise_ ? "; where other files have records, --skip_corrupt passes over it" : "");
        }
        ++corrupt_;
      } else if (left > 0) {
        damaged(
            fmt::format("truncated: expected a header of {} bytes, found {}", kHeaderBytes, left));
      }
      drop(left);
      return false;
    }
    const std::byte* header = buffer_.data() + begin_;
    if (masked_crc({header, 8}) == number_at<uint32_t>(header + 8)) break;
    damaged(fmt::format("the length {} does not match its checksum", number_at<uint64_t>(header)));
  }
  if (searching_) {  // a sound record after damage is the next one
    searching_ = false;
    ++number_;
    offset_ = position_;
  }
  length = number_at<uint64_t>(buffer_.data() + begin_);
  drop(kHeaderBytes);
  return true;
}

// Memory grows with what is really there, never by the length alone.
bool TfRecordReader::read_payload(uint64_t length, std::string& record) {
  record.clear();
  while (record.size() < length) {
    if (!peek(1)) {
      damaged(fmt::format("truncated: expected {} bytes, found {}", length, record.size()));
      return false;
    }
    auto part = static_cast<size_t>(std::min<uint64_t>(length - record.size(), end_ - begin_));
    record.append(reinterpret_cast<const char*>(buffer_.data()) + begin_, part);
    drop(part);
  }
  if (!peek(kFooterBytes)) {
    damaged("truncated: the record's checksum is missing");
    drop(end_ - begin_);
    return false;
  }
  uint32_t stored = number_at<uint32_t>(buffer_.data() + begin_);
  drop(kFooterBytes);
  if (masked_crc(std::as_bytes(std::span(record))) == stored) return true;
  damaged(fmt::format("the record's {} bytes do not match their checksum", length));
  searching_ = false;  // the frame is sound, so the next record begins right here
  return false;
}

std::string frame_record(std::string_view record) {
  std::string frame;
  frame.reserve(kHeaderBytes + record.size() + kFooterBytes);
  append_number<uint64_t>(frame, record.size());
  append_number(frame, masked_crc(std::as_bytes(std::span(frame))));
  frame += record;
  append_number(frame, masked_crc(std::as_bytes(std::span(record))));
  return frame;
}

void TfRecordWriter::write(std::string_view record) { append_framed(frame_record(record)); }

void TfRecordWriter::append_framed(std::string_view frames) {
  to_->append(std::as_bytes(std::span(frames)));
}

}  // namespace bertrain
