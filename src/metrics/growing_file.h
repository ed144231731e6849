// A file that grows while others read it: appended to on local disks, numbered objects elsewhere.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace bertrain {

class GrowingFile {
 public:
  virtual ~GrowingFile() = default;
  virtual void append(std::string_view bytes) = 0;  // throws Error naming the file
  // Makes what was appended readable to others. Local files always are; elsewhere it becomes one
  // more object. A destructor flushes, and is silent when that fails.
  virtual void flush() = 0;
};

// Local files go on after what is there. Objects elsewhere cannot grow: the pieces are NAME, then
// NAME.1, NAME.2 …, after those that are there.
std::unique_ptr<GrowingFile> open_growing_file(std::string_view uri);

}  // namespace bertrain
