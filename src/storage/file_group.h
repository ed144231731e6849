// Files that belong together: all of them are on the device before the first appears under its name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/storage.h"

namespace bertrain {

// A destructor without commit() leaves what is there as it was.
class FileGroup {
 public:
  void add(const std::string& uri, const std::string& text) {
    refuse_pipe(uri);  // which would be written to, and wait for a reader
    std::unique_ptr<Writer> writer = storage_for(uri).create(uri, Exists::replace);
    writer->append(std::as_bytes(std::span(text)));
    writer->settle();
    writers_.push_back(std::move(writer));
  }
  // One after the other, in the order of add().
  void commit() {
    for (auto& writer : writers_) writer->commit();
    writers_.clear();
  }

 private:
  std::vector<std::unique_ptr<Writer>> writers_;
};

}  // namespace bertrain
