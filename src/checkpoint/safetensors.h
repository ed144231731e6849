// The safetensors format: a JSON header of names, types and offsets, then the values.
// Grammar and a worked example: docs/formats/safetensors.md.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/array.h"
#include "checkpoint/checkpoint.h"

namespace bertrain {

// Throws Error that names the file, and the tensor where there is one, when header and file do not
// agree to the byte. Types that DType lacks (F64, I8, …) are an Error too.
std::unique_ptr<CheckpointReader> open_safetensors(std::string_view uri);

// Larger elements first, then by name, so that each tensor is aligned to its element. Carries the
// metadata {"format": "pt"} that transformers asks for.
std::unique_ptr<CheckpointWriter> create_safetensors(std::string_view uri,
                                                     const Named<ArrayType>& declared = {});

// Whether an object that starts with these bytes (9 at least) can be a safetensors file.
bool looks_like_safetensors(std::string_view start, uint64_t size);

}  // namespace bertrain
