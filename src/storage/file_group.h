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
  // To be filled until commit(); the group keeps it.
  Writer& create(const std::string& uri) {
    refuse_pipe(uri);  // which would be written to, and wait for a reader
    writers_.push_back(storage_for(uri).create(uri, Exists::replace));
    return *writers_.back();
  }
  void add(const std::string& uri, const std::string& text) {
    Writer& writer = create(uri);
    writer.append(std::as_bytes(std::span(text)));
    writer.settle();
  }
  // All on the device; then one after the other, in the order in which they came.
  void commit() {
    for (auto& writer : writers_) writer->settle();
    for (auto& writer : writers_) writer->commit();
    writers_.clear();
  }

 private:
  std::vector<std::unique_ptr<Writer>> writers_;
};

}  // namespace bertrain
