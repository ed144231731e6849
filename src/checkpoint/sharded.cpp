// One reader over the files of an index.
#include "checkpoint/sharded.h"

#include <set>
#include <utility>

#include "base/checked_json.h"
#include "base/error.h"
#include "base/quote.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

constexpr uint64_t kMostIndex = uint64_t{16} << 20;  // of kMostKeys names of a kilobyte

// Calls visit(name of a tensor, name of its file) for each line of an index.
template <class Visit>
void each_place(const std::string& index, Visit visit) {
  Json json = parse_json(read_file_up_to(index, kMostIndex), index);
  JsonValue map = JsonValue(json, index).at("weight_map");
  map.require_object();
  for (const auto& [name, file] : map.json().items()) {
    visit(name, JsonValue(file, index, "weight_map." + name).text());
  }
}

// Where the file of a tensor is. An index from elsewhere must not reach for other files of this machine.
std::string uri_of_shard(const std::string& index, const std::string& file,
                         const std::string& name) {
  // Nothing of the system takes a name with NUL whole.
  if (file.empty() || file.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos ||
      file == "..") {
    throw error("{}: tensor {} would be in {}; the name of a file in the same folder expected",
                index, quote(name), quote(file));
  }
  std::string uri = join_path(folder_part(index), file);
  if (!storage_for(uri).size(uri)) {
    throw error("{}: {} is missing, which has tensor {}; fetch all files of the index", index, uri,
                quote(name));
  }
  return uri;
}

class ShardedReader : public CheckpointReader {
 public:
  ShardedReader(std::string_view index, const OpenShard& open) : uri_(index) {
    each_place(uri_,
               [&](const std::string& name, const std::string& file) { add(name, file, open); });
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
      known = files_.emplace(file, open(uri_of_shard(uri_, file, name))).first;
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

  std::string uri_;
  Named<std::unique_ptr<CheckpointReader>> files_;
  Named<const CheckpointReader*> placed_;
  Named<ArrayType> types_;
};

}  // namespace

std::unique_ptr<CheckpointReader> open_shards(std::string_view index, const OpenShard& open) {
  return std::make_unique<ShardedReader>(index, open);
}

std::vector<std::string> shard_files(const std::string& index) {
  std::set<std::string> files;
  each_place(index, [&](const std::string& name, const std::string& file) {
    files.insert(uri_of_shard(index, file, name));
  });
  return {files.begin(), files.end()};
}

}  // namespace bertrain
