// A checkpoint seen under other names: rows and columns of some matrices are swapped with the name.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "checkpoint/checkpoint.h"

namespace bertrain {

// The other name of a tensor; the same name when it has no other; "" to leave the tensor out.
using Rename = std::function<std::string(std::string_view name)>;
// Whether the tensor of that new name is the transpose of what the old name held.
using Transposes = std::function<bool(std::string_view new_name)>;

// Reading: tensors() and read() know the new names. A tensor that keeps its name is never
// transposed. Throws Error naming both when two tensors would share a name.
std::unique_ptr<CheckpointReader> rename_tensors(std::unique_ptr<CheckpointReader> from,
                                                 const Rename& rename,
                                                 const Transposes& transposes);

Array transposed(const Array& matrix);  // [A, B] → [B, A]; a logic_error for other ranks

}  // namespace bertrain
