// Values on one device of a PJRT client.
#pragma once

#include <memory>

#include "backend/pjrt/abi.h"
#include "base/array.h"

namespace bertrain {

class PjrtClient;

AbiType abi_type(DType dtype);

// The destructor gives the values back; what still reads them keeps them until it is done.
class PjrtBuffer {
 public:
  PjrtBuffer(std::shared_ptr<const PjrtClient> client, AbiBuffer* buffer, ArrayType type);
  ~PjrtBuffer();
  PjrtBuffer(const PjrtBuffer&) = delete;
  PjrtBuffer& operator=(const PjrtBuffer&) = delete;

  const ArrayType& type() const { return type_; }
  // Waits for the values; row-major. An Error also where the run that should have made them failed;
  // a std::logic_error where they were given away.
  Array get() const;
  // An execution consumed the values: all that is left to do with this is to destroy it.
  void donated() { dead_ = true; }
  bool is_dead() const { return dead_; }
  AbiBuffer* handle() const { return buffer_; }

 private:
  std::shared_ptr<const PjrtClient> client_;
  AbiBuffer* buffer_;
  ArrayType type_;
  bool dead_ = false;
};

}  // namespace bertrain
