// Memory that starts at a cache line and, when it is large, at a huge page that the kernel is asked
// for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bertrain {

// Bytes are not zeroed by this class (fresh pages of the system are). Throws Error naming the size
// when there is no memory.
class HugeBuffer {
 public:
  HugeBuffer() = default;
  explicit HugeBuffer(size_t bytes);
  ~HugeBuffer();
  HugeBuffer(HugeBuffer&& other) noexcept;
  HugeBuffer& operator=(HugeBuffer&& other) noexcept;
  HugeBuffer(const HugeBuffer&) = delete;
  HugeBuffer& operator=(const HugeBuffer&) = delete;

  std::byte* data() const { return data_; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }
  size_t size() const { return size_; }
  // At least this size afterwards; the contents are lost when it grows.
  void reserve(size_t bytes);

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// Scratch of the calling thread, kept between calls; `slot` tells apart buffers in use at one time.
enum class Scratch { gemm_a, gemm_b, gemm_c, gemm_wide, gemm_bias, attention, rows };
std::byte* scratch(Scratch slot, size_t bytes);
template <class T>
T* scratch_of(Scratch slot, size_t count) {
  return reinterpret_cast<T*>(scratch(slot, count * sizeof(T)));
}

}  // namespace bertrain
