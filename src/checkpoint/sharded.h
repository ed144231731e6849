// Weights in several files with an index beside them, as transformers writes large models.
// The index: docs/formats/pytorch.md.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace bertrain {

using OpenShard = std::function<std::unique_ptr<CheckpointReader>(const std::string& uri)>;

// `index` is x.index.json: {"weight_map": {tensor: name of a file beside it}}. Throws Error that
// names the index and the tensor or file: a file that is not there or elsewhere, a tensor that is
// not in its file, or in one but not in the index.
std::unique_ptr<CheckpointReader> open_shards(std::string_view index, const OpenShard& open);

// The files that an index names, in the order of their names. Throws Error as open_shards does.
std::vector<std::string> shard_files(const std::string& index);

}  // namespace bertrain
