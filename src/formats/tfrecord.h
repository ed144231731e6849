// TFRecord files: records of any bytes, each framed by its length and two checksums
// (docs/formats/tfrecord.md).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/storage.h"

namespace bertrain {

// Reads the records of one object in order; gzip is unpacked. Damage throws an Error that names the
// object, the record (from 1) and its byte offset. A file without any record is damage too: it is
// what a failed copy leaves. With `skip_corrupt` damage is counted instead, and reading goes on at
// the next record whose frame is sound. `advise`: Errors name --skip_corrupt, which not every command
// has.
class TfRecordReader {
 public:
  explicit TfRecordReader(std::string_view uri, bool skip_corrupt = false, bool advise = true);

  bool next(std::string& record);  // false at the end
  uint64_t number() const {
    return number_;
  }  // of the record last given, from 1; damaged ones count
  uint64_t offset() const { return offset_; }    // where its frame begins, in unpacked bytes
  uint64_t corrupt() const { return corrupt_; }  // stretches of damage passed over
  std::string place() const;  // "FILE: record N at byte O", to put in front of an Error

 private:
  bool peek(size_t count);
  void drop(size_t count);
  bool read_header(uint64_t& length);
  bool read_payload(uint64_t length, std::string& record);
  void damaged(std::string_view what);
  std::string uri_;
  bool skip_corrupt_, advise_;
  std::unique_ptr<ByteReader> bytes_;
  std::vector<std::byte> buffer_;
  size_t begin_ = 0, end_ = 0;  // what of buffer_ is not used yet
  uint64_t position_ = 0;       // of begin_ in the file
  uint64_t number_ = 0, offset_ = 0, corrupt_ = 0;
  bool searching_ = false;  // within a stretch of damage, already counted
  bool broken_ = false;     // nothing more can be read
};

// What an object seems to be by its first bytes (unpacked), to say so where another kind was expected:
// a sound record's header, or bytes that are no control characters, as no length of a record is.
bool starts_like_tfrecord(std::string_view uri);
bool starts_like_text(std::string_view uri);

// The bytes of one framed record.
std::string frame_record(std::string_view record);

// Frames records into `to`, which may pack (storage/gzip.h).
class TfRecordWriter {
 public:
  explicit TfRecordWriter(std::unique_ptr<Writer> to) : to_(std::move(to)) {}
  void write(std::string_view record);
  void append_framed(std::string_view frames);  // what frame_record gave, one or several
  void commit() { to_->commit(); }

 private:
  std::unique_ptr<Writer> to_;
};

}  // namespace bertrain
