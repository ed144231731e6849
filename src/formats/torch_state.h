// The tensors that a pickle of PyTorch's describes: their names, types, and where their values are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/array.h"
#include "formats/pickle.h"

namespace bertrain {

// A view of a storage: element [i, j, …] is its element offset + i·strides[0] + j·strides[1] + ….
// All of them are within the storage, and they are no more than it has elements.
struct TorchTensor {
  ArrayType type;
  std::string storage;         // its key; several tensors may share one
  uint64_t storage_bytes = 0;  // of all its elements
  uint64_t offset = 0;         // in elements
  std::vector<int64_t> strides;

  bool is_contiguous() const;  // its elements follow each other, the last axis first
  uint64_t spanned() const;    // elements of the storage from its first to its last; 0: it has none
};

struct TorchStorage {
  uint64_t elements = 0, element_bytes = 0;
  bool operator==(const TorchStorage&) const = default;
};

// For read_pickle: what a state dict is made of passes; anything else throws an Error that names it,
// and says what to do.
void check_torch_global(const std::string& name);

// The tensors of a state dict; or of the only state dict among the values of a dict, as training
// checkpoints have it ({"epoch": 3, "state_dict": …}). Values that are no tensors are left out.
// Throws Error naming the tensor whose type is not read, or that is not within its storage.
Named<TorchTensor> torch_tensors(const Pickle& pickle);

// Every storage of the pickle by its key, also those of other values than the tensors above.
Named<TorchStorage> torch_storages(const Pickle& pickle);

}  // namespace bertrain
