// Where rows go as they are made.
#pragma once

#include <memory>
#include <ostream>
#include <span>
#include <string>

#include "base/error.h"
#include "storage/storage.h"

namespace bertrain {

// Called before anything is loaded.
inline void require_output_file(const std::string& file) {
  if (file.empty()) {
    throw usage_error("--output_file= names no file: a name is expected, or - for standard output");
  }
}

// Rows to a stream as they come, or to a file that appears whole at commit().
class RowOutput {
 public:
  // file: "-" is `out`, flushed after each row where somebody may wait for the answer (`follow`).
  RowOutput(const std::string& file, bool follow, std::ostream& out) : out_(out), follow_(follow) {
    require_output_file(file);
    if (file != "-") writer_ = storage_for(file).create(file, Exists::replace);
  }
  void write(const std::string& text) {
    if (writer_) return writer_->append(std::as_bytes(std::span(text)));
    out_ << text;
    if (follow_) out_.flush();
  }
  // What was written is on the device: for files that appear together.
  void settle() {
    if (writer_) writer_->settle();
  }
  void commit() {
    if (writer_) writer_->commit();
  }

 private:
  std::ostream& out_;
  bool follow_;
  std::unique_ptr<Writer> writer_;
};

}  // namespace bertrain
