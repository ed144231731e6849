// Which checkpoint a name means: a file told by its content, a TF prefix, or a directory.
#include "checkpoint/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/error.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/tf_bundle.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

constexpr std::string_view kModelFile = "model.safetensors";
constexpr std::string_view kStateFile = "checkpoint";

bool is_there(const std::string& uri) { return storage_for(uri).size(uri).has_value(); }

std::string read_piece(const std::string& uri, uint64_t offset, size_t bytes) {
  std::string piece(bytes, '\0');
  storage_for(uri).read(uri, offset, std::as_writable_bytes(std::span(piece)));
  return piece;
}

// What to say of a weight file of another program.
std::optional<std::string> foreign(std::string_view start) {
  if (start.starts_with("PK\x03\x04") || start.starts_with("\x80\x02")) {
    return "a PyTorch pickle, which can run code as it is loaded; in Python, "
           "model.save_pretrained(dir, safe_serialization=True) writes model.safetensors";
  }
  if (start.starts_with("\x89HDF\r\n")) return "a Keras HDF5 file, which is not read";
  return std::nullopt;
}

// Where a checkpoint is: a safetensors file, or a TF prefix.
struct Found {
  CheckpointFormat format;
  std::string name;
};

Found in_state(const std::string& uri) {
  return {CheckpointFormat::tf_bundle, read_tf_state(uri).back()};
}

std::optional<Found> find_file(const std::string& uri, uint64_t size) {
  std::string prefix = bundle_prefix(uri);
  if (prefix != uri) return Found{CheckpointFormat::tf_bundle, prefix};
  std::string start = read_piece(uri, 0, std::min<uint64_t>(size, 32));
  // A damaged file of that name is left to the reader, which says what is wrong with it.
  if (looks_like_safetensors(start, size) || uri.ends_with(".safetensors")) {
    return Found{CheckpointFormat::safetensors, uri};
  }
  if (start.starts_with("model_checkpoint_path")) return in_state(uri);
  if (std::optional<std::string> what = foreign(start)) throw error("{}: {}", uri, *what);
  return std::nullopt;
}

// Names directly in a directory, not below it: a home directory must not be searched to its leaves.
std::vector<std::string> names_in(const std::string& directory) {
  namespace fs = std::filesystem;
  std::vector<std::string> names;
  if (directory.find("://") == std::string::npos) {
    std::error_code absent;
    for (const auto& entry : fs::directory_iterator(directory, absent)) {
      names.push_back(entry.path().filename().string());
    }
  } else {
    std::string start = join_path(directory, "");
    for (const Object& o : storage_for(directory).list(start)) {
      if (o.uri.find('/', start.size()) == std::string::npos) {
        names.push_back(o.uri.substr(start.size()));
      }
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The only TF checkpoint of a directory without a state file, as released models come.
std::optional<std::string> single_prefix(const std::string& directory) {
  std::vector<std::string> prefixes;
  for (const std::string& name : names_in(directory)) {
    if (name.ends_with(".index")) prefixes.push_back(bundle_prefix(join_path(directory, name)));
  }
  if (prefixes.size() > 1) {
    throw error("{}: holds several checkpoints ({}, {}{}); name one of them", directory,
                prefixes[0], prefixes[1], prefixes.size() > 2 ? ", …" : "");
  }
  if (prefixes.empty()) return std::nullopt;
  return prefixes[0];
}

std::optional<Found> find_in_directory(const std::string& directory) {
  std::string model = join_path(directory, kModelFile);
  if (is_there(model)) return Found{CheckpointFormat::safetensors, model};
  std::string state = join_path(directory, kStateFile);
  if (is_there(state)) return in_state(state);
  if (auto prefix = single_prefix(directory)) return Found{CheckpointFormat::tf_bundle, *prefix};
  for (const char* other : {"pytorch_model.bin", "model.safetensors.index.json", "tf_model.h5"}) {
    if (is_there(join_path(directory, other))) {
      throw error("{}: holds {}, which is not read; save the model as one {}", directory, other,
                  kModelFile);
    }
  }
  return std::nullopt;
}

std::optional<Found> find(const std::string& name) {
  if (std::optional<uint64_t> size = storage_for(name).size(name)) return find_file(name, *size);
  std::string prefix = bundle_prefix(name);
  // Either half of a bundle will do here: the bundle's reader names the one that is missing.
  if (is_there(prefix + ".index") || !storage_for(name).list(prefix + ".data-").empty()) {
    return Found{CheckpointFormat::tf_bundle, prefix};
  }
  return find_in_directory(name);
}

}  // namespace

void CheckpointWriter::write_object_graph(std::string_view) {
  check(false, "this format has no graph of objects");
}

std::unique_ptr<CheckpointReader> open_checkpoint(std::string_view uri) {
  std::string name = without_slashes(uri);
  if (name.empty()) throw error("a checkpoint is expected, and an empty name was given");
  if (std::optional<Found> found = find(name)) {
    if (found->format == CheckpointFormat::tf_bundle) return open_tf_bundle(found->name);
    return open_safetensors(found->name);
  }
  if (is_there(name)) {
    throw error(
        "{}: not a checkpoint; a safetensors file or a TensorFlow checkpoint (its prefix, .index "
        "or .data file) is expected",
        name);
  }
  throw error(
      "{}: no checkpoint is there: looked for a file of this name, for {}.index, and for {} or "
      "{} in a directory",
      name, name, kModelFile, kStateFile);
}

bool is_checkpoint(std::string_view uri) {
  std::string name = without_slashes(uri);
  return !name.empty() && find(name).has_value();
}

std::unique_ptr<CheckpointWriter> create_checkpoint(std::string_view uri, CheckpointFormat format,
                                                    const Named<ArrayType>& declared) {
  if (format == CheckpointFormat::tf_bundle) return create_tf_bundle(uri);
  return create_safetensors(uri, declared);
}

}  // namespace bertrain
