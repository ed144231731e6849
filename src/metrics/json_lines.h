// Numbers of a run as JSON lines: one object a logged step.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "metrics/growing_file.h"

namespace bertrain {

class JsonLines {
 public:
  // Goes on with an existing local file: a torn last line, and the lines of steps after `last_step`
  // (which a run that resumes there writes again), are removed.
  JsonLines(std::string_view uri, int64_t last_step);
  // {"step": 20, "loss": 3.5, …} in the order given; in the file when this returns. Numbers that
  // are not finite, which JSON lacks, are written as null.
  void add(int64_t step, const Json& values);
  void flush() { file_->flush(); }

 private:
  std::unique_ptr<GrowingFile> file_;
};

// One line of JSON without its end; numbers that are not finite become null at any depth.
std::string json_line(const Json& value);

}  // namespace bertrain
