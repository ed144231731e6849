// Weight files of PyTorch (torch.save): zip archives, and the older rows of pickles and storages.
// Grammar and a worked example: docs/formats/pytorch.md.
#pragma once

#include <memory>
#include <string_view>

#include "checkpoint/checkpoint.h"

namespace bertrain {

// The tensors of a state dict, or of the only one in a training checkpoint. Nothing in the file is
// run: what is more than tensors is an Error that names it. Throws Error naming file and tensor when
// sizes, or checksums of the zip archive where it has them, do not hold. Tensors that lie in order
// are mapped; others are copied into order.
std::unique_ptr<CheckpointReader> open_pytorch(std::string_view uri);

// Whether an object that starts with these bytes can be such a file.
bool looks_like_pytorch(std::string_view start);

}  // namespace bertrain
