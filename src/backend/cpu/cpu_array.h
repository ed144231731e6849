// Values on the CPU: memory of our own, which a program's output may take over from an input.
#pragma once

#include <memory>

#include "backend/backend.h"
#include "backend/cpu/kernels/huge_buffer.h"

namespace bertrain {

class CpuArray : public DeviceArray {
 public:
  explicit CpuArray(ArrayType type)
      : type_(std::move(type)),
        memory_(std::make_shared<HugeBuffer>(static_cast<size_t>(elements(type_.shape)) *
                                             size_of(type_.dtype))) {}
  CpuArray(ArrayType type, std::shared_ptr<HugeBuffer> memory)
      : type_(std::move(type)), memory_(std::move(memory)) {}

  const ArrayType& type() const override { return type_; }
  size_t byte_size() const {
    return static_cast<size_t>(elements(type_.shape)) * size_of(type_.dtype);
  }
  std::byte* data() const { return memory_->data(); }
  bool alive() const { return memory_ != nullptr; }
  std::shared_ptr<HugeBuffer> surrender() { return std::move(memory_); }  // dead for every holder

 private:
  ArrayType type_;
  std::shared_ptr<HugeBuffer> memory_;
};

// The array as one of this backend that is alive; a check failure otherwise.
CpuArray& cpu_array(const DeviceArray& array);

}  // namespace bertrain
