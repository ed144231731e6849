// Which checkpoint a name means: a file told by its content, a TF prefix, or a directory.
#include "checkpoint/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/quote.h"
#include "checkpoint/pytorch.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/sharded.h"
#include "checkpoint/tf_bundle.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

constexpr std::string_view kModelFile = "model.safetensors";
constexpr std::string_view kModelIndex = "model.safetensors.index.json";
constexpr std::string_view kStateFile = "checkpoint";
constexpr std::string_view kTorchFile = "pytorch_model.bin";
constexpr std::string_view kTorchIndex = "pytorch_model.bin.index.json";
constexpr std::string_view kIndexEnd = ".index.json";

std::string read_piece(const std::string& uri, uint64_t offset, size_t bytes) {
  std::string piece(bytes, '\0');
  storage_for(uri).read(uri, offset, std::as_writable_bytes(std::span(piece)));
  return piece;
}

// What to say of a weight file of another program.
std::optional<std::string> foreign(std::string_view start) {
  if (start.starts_with("\x89HDF\r\n")) return "a Keras HDF5 file, which is not read";
  return std::nullopt;
}

// Where a checkpoint is: a file, or a TF prefix.
struct Found {
  CheckpointFormat format;
  std::string name;
};

Found in_state(const std::string& uri) {
  std::string prefix = read_tf_state(uri).back();
  std::optional<uint64_t> size;
  try {
    size = storage_for(prefix).size(prefix + ".index");
  } catch (const Error&) {  // a name that cannot be, too long for instance
  }
  if (!size && storage_for(prefix).list(prefix + ".data-").empty()) {
    throw error("{}: it names the checkpoint {}, which is not there (there is no .index of it)",
                uri, quote(prefix));
  }
  return {CheckpointFormat::tf_bundle, prefix};
}

std::optional<Found> find_file(const std::string& uri, uint64_t size) {
  std::string prefix = bundle_prefix(uri);
  if (uri.ends_with(kIndexEnd)) return Found{CheckpointFormat::shards, uri};
  if (prefix != uri) return Found{CheckpointFormat::tf_bundle, prefix};
  std::string start = read_piece(uri, 0, std::min<uint64_t>(size, 32));
  // A damaged file of that name is left to the reader, which says what is wrong with it.
  if (looks_like_safetensors(start, size) || uri.ends_with(".safetensors")) {
    return Found{CheckpointFormat::safetensors, uri};
  }
  if (looks_like_pytorch(start) || uri.ends_with(kTorchFile)) {
    return Found{CheckpointFormat::pytorch, uri};
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
  auto file = [&](std::string_view name, CheckpointFormat format) -> std::optional<Found> {
    std::string uri = join_path(directory, name);
    if (!exists(uri)) return std::nullopt;
    return Found{format, uri};
  };
  if (auto found = file(kModelFile, CheckpointFormat::safetensors)) return found;
  if (auto found = file(kModelIndex, CheckpointFormat::shards)) return found;
  std::string state = join_path(directory, kStateFile);
  if (exists(state)) return in_state(state);
  if (auto prefix = single_prefix(directory)) return Found{CheckpointFormat::tf_bundle, *prefix};
  if (auto found = file(kTorchFile, CheckpointFormat::pytorch)) return found;
  if (auto found = file(kTorchIndex, CheckpointFormat::shards)) return found;
  if (exists(join_path(directory, "tf_model.h5"))) {
    throw error("{}: holds tf_model.h5, which is not read; save the model as {}", directory,
                kModelFile);
  }
  return std::nullopt;
}

std::optional<Found> find(const std::string& name) {
  if (std::optional<uint64_t> size = storage_for(name).size(name)) return find_file(name, *size);
  std::string prefix = bundle_prefix(name);
  // Either half of a bundle will do here: the bundle's reader names the one that is missing.
  if (exists(prefix + ".index") || !storage_for(name).list(prefix + ".data-").empty()) {
    return Found{CheckpointFormat::tf_bundle, prefix};
  }
  return find_in_directory(name);
}

Found find_or_fail(std::string_view uri) {
  std::string name = without_slashes(uri);
  if (name.empty()) throw error("a checkpoint is expected, and an empty name was given");
  if (std::optional<Found> found = find(name)) return *found;
  if (exists(name)) {
    throw error(
        "{}: not a checkpoint; a safetensors file, a weight file of PyTorch or a TensorFlow "
        "checkpoint (its prefix, .index or .data file) is expected",
        name);
  }
  throw error(
      "{}: no checkpoint is there: looked for a file of this name, for {}.index, and for {}, {} or "
      "{} in a directory",
      name, name, kModelFile, kTorchFile, kStateFile);
}

// One of the files of an index.
std::unique_ptr<CheckpointReader> open_shard(const std::string& uri) {
  std::optional<Found> found = find_file(uri, storage_for(uri).size(uri).value_or(0));
  if (found && found->format == CheckpointFormat::safetensors) return open_safetensors(uri);
  if (found && found->format == CheckpointFormat::pytorch) return open_pytorch(uri);
  throw error("{}: neither a safetensors file nor a weight file of PyTorch", uri);
}

}  // namespace

void CheckpointWriter::write_object_graph(std::string_view) {
  check(false, "this format has no graph of objects");
}

std::unique_ptr<CheckpointReader> open_checkpoint(std::string_view uri) {
  Found found = find_or_fail(uri);
  switch (found.format) {
    case CheckpointFormat::tf_bundle:
      return open_tf_bundle(found.name);
    case CheckpointFormat::safetensors:
      return open_safetensors(found.name);
    case CheckpointFormat::pytorch:
      return open_pytorch(found.name);
    case CheckpointFormat::shards:
      return open_shards(found.name, open_shard);
  }
  throw std::logic_error("unknown format of a checkpoint");
}

CheckpointFormat format_of_checkpoint(std::string_view uri) { return find_or_fail(uri).format; }

std::vector<std::string> files_of_checkpoint(std::string_view uri) {
  Found found = find_or_fail(uri);
  std::vector<std::string> files;
  if (found.format == CheckpointFormat::shards) files = shard_files(found.name);
  files.push_back(found.format == CheckpointFormat::tf_bundle ? found.name + ".index" : found.name);
  return files;
}

bool is_checkpoint(std::string_view uri) {
  std::string name = without_slashes(uri);
  return !name.empty() && find(name).has_value();
}

std::unique_ptr<CheckpointWriter> create_checkpoint(std::string_view uri, CheckpointFormat format,
                                                    const Named<ArrayType>& declared) {
  if (format == CheckpointFormat::tf_bundle) return create_tf_bundle(uri);
  check(format == CheckpointFormat::safetensors, "a format that is not written");
  return create_safetensors(uri, declared);
}

}  // namespace bertrain
