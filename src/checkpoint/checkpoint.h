// A checkpoint: a named set of arrays, read and written one at a time, whatever the file format.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/array.h"

namespace bertrain {

// Safe to share between threads. Every array read is checked against the file's sizes, and its
// checksum where the format has one; what does not hold is an Error naming file and tensor.
class CheckpointReader {
 public:
  virtual ~CheckpointReader() = default;
  // Name → dtype and shape, without reading values. Tensors that are no numbers (strings of TF 2
  // files) are left out.
  virtual const Named<ArrayType>& tensors() const = 0;
  // An unknown name is an Error that names the file.
  virtual Array read(std::string_view name) const = 0;
  // What of the file has no place in tensors(), by its names there: a matrix that is another's twin,
  // counters of saves; sorted.
  virtual std::vector<std::string> left_out() const { return {}; }
  // The file that is read: x.safetensors, x.index, x.index.json of weights in several files.
  virtual const std::string& uri() const = 0;
  // The message that says which object has which tensor (formats/object_graph.h); none but in
  // TensorFlow 2 checkpoints.
  virtual std::optional<std::string> object_graph() const { return std::nullopt; }
};

// Nothing appears under the final name before commit(); a destructor without it discards.
class CheckpointWriter {
 public:
  virtual ~CheckpointWriter() = default;
  virtual void write(std::string_view name, const Array& value) = 0;  // each name once
  // Of a TensorFlow 2 checkpoint; a logic_error for formats that have none.
  virtual void write_object_graph(std::string_view message);
  // All is written and on the device; commit() only lets it appear. For checkpoints with companions
  // that must not be mixed with those of another.
  virtual void settle() {}
  virtual void commit() = 0;
};

// What open_checkpoint reads and, but for pytorch and shards, create_checkpoint writes. Shards: an
// index (x.index.json) and files of safetensors or pytorch.
enum class CheckpointFormat { tf_bundle, safetensors, pytorch, shards };

// The format is told by content. `uri` is a safetensors file; a weight file of PyTorch's; the index
// of either in several files (x.index.json); a TF prefix (model.ckpt-20), or its .index or
// .data-…-of-… file; a `checkpoint` state file; or a directory, with or without a trailing slash,
// that holds, in this order, model.safetensors, its index, a state file, one TF checkpoint,
// pytorch_model.bin or its index. Errors name the part that is missing, or "truncated: expected N
// bytes, found M".
std::unique_ptr<CheckpointReader> open_checkpoint(std::string_view uri);

// Whether there is something by that name that open_checkpoint reads, damaged or not. Files of
// Keras are an Error that says so.
bool is_checkpoint(std::string_view uri);

// The files whose bytes tell one such checkpoint from another: the index of a TensorFlow one, which
// has a checksum of every tensor; an index of weights in several files with those files.
std::vector<std::string> files_of_checkpoint(std::string_view uri);

// What open_checkpoint reads it as; as there, an Error when there is nothing.
CheckpointFormat format_of_checkpoint(std::string_view uri);

// `uri` is the safetensors file or the TF prefix. Safetensors holds all arrays until commit, since
// their sizes come first in the file; unless the types of the tensors are `declared`: then each is
// written out as soon as those before it in the file (larger elements first, then by name) are.
std::unique_ptr<CheckpointWriter> create_checkpoint(std::string_view uri, CheckpointFormat format,
                                                    const Named<ArrayType>& declared = {});

}  // namespace bertrain
