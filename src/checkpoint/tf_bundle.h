// TensorFlow checkpoints (tensor bundles): an index table beside data files. Version 1 of the
// format, which TF 1 and TF 2 both write. Grammar and a worked example: docs/formats/tf_bundle.md.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/array.h"
#include "checkpoint/checkpoint.h"

namespace bertrain {

// `prefix` is the name without .index and .data-…. A file that is missing or too short is named at
// once; checksums are verified as tensors are read. Strings (the object graph of TF 2) are left
// out.
std::unique_ptr<CheckpointReader> open_tf_bundle(std::string_view prefix);

// Writes prefix.data-00000-of-00001 as tensors come, and at commit prefix.index and the state file
// `checkpoint` beside it, which then names this checkpoint as the newest and keeps those it listed
// that are still there.
std::unique_ptr<CheckpointWriter> create_tf_bundle(std::string_view prefix);

// The prefix that names like x.index, x.data-00000-of-00001 and x.meta stand for; x otherwise.
std::string bundle_prefix(std::string_view name);

// The prefixes listed in a state file, oldest first and the newest last; throws Error when there is
// none in it.
std::vector<std::string> read_tf_state(std::string_view uri);

// Makes `prefixes` (all in `directory`, at least one) what its state file lists; the last is the
// newest.
void write_tf_state(std::string_view directory, const std::vector<std::string>& prefixes);

}  // namespace bertrain
