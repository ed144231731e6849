// One reader over the files of an index.
#include "checkpoint/sharded.h"

#include <utility>

#include "base/checked_json.h"
#include "base/error.h"
#include "base/quote.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

constexpr uint64_t kMostIndex = uint64_t{16} << 20;  // of kMostKeys names of a kilobyte

class ShardedReader : public CheckpointReader {
 public:
  ShardedReader(std::string_view index, const OpenShard& open) : uri_(index) {
    size_t slash = uri_.rfind('/');
    folder_ = slash == std::string::npos ? "" : uri_.substr(0, slash + 1);
    Json json = parse_json(read_text_up_to(uri_, kMostIndex), uri_);
    JsonValue map = JsonValue(json, uri_).at("weight_map");
    map.require_object();
    for (const auto& [name, file] : map.json().items()) {
      add(name, JsonValue(file, uri_, "weight_map." + name).text(), open);
    }
    for (const auto& [file, reader] : files_) {
      for (const auto& [name, type] : reader->tensors()) {
        if (!types_.contains(name)) {
          throw error("{}: tensor {} of {} is not in the index", uri_, quote(name), file);
        }
      }
    }
  }

  const Named<ArrayType>& tensors() const override { return types_; }
  const std::string& uri() const override { return uri_; }
  Array read(std::string_view name) const override {
    auto found = placed_.find(name);
    if (found == placed_.end()) throw error("{}: no tensor '{}'", uri_, name);
    return found->second->read(name);
  }

 private:
  void add(const std::string& name, const std::string& file, const OpenShard& open) {
    auto known = files_.find(file);
    if (known == files_.end()) {
      // An index from elsewhere must not reach for other files of this machine.
      if (file.empty() || file.find_first_of("/\\") != std::string::npos || file == "..") {
        throw error("{}: tensor {} would be in {}; the name of a file in the same folder expected",
                    uri_, quote(name), quote(file));
      }
      std::string uri = folder_ + file;
      if (!storage_for(uri).size(uri)) {
        throw error("{}: {} is missing, which has tensor {}; fetch all files of the index", uri_,
                    uri, quote(name));
      }
      known = files_.emplace(file, open(uri)).first;
    }
    const CheckpointReader& reader = *known->second;
    auto type = reader.tensors().find(name);
    if (type == reader.tensors().end()) {
      throw error("{}: tensor {} is not in {}, where the index has it", uri_, quote(name),
                  reader.uri());
    }
    if (!types_.emplace(name, type->second).second) {
      throw error("{}: tensor {} is there twice", uri_, quote(name));
    }
    placed_.emplace(name, &reader);
  }

  std::string uri_, folder_;  // the folder with its slash
  Named<std::unique_ptr<CheckpointReader>> files_;
  Named<const CheckpointReader*> placed_;
  Named<ArrayType> types_;
};

}  // namespace

std::unique_ptr<CheckpointReader> open_shards(std::string_view index, const OpenShard& open) {
  return std::make_unique<ShardedReader>(index, open);
}

}  // namespace bertrain
