// Allocation on huge pages, and the scratch of each thread.
#include "backend/cpu/kernels/huge_buffer.h"

#include <sys/mman.h>

#include <array>
#include <cstdlib>
#include <utility>

#include "base/error.h"

namespace bertrain {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kLine = 64;

}  // namespace

HugeBuffer::HugeBuffer(size_t bytes) : size_(bytes) {
  if (bytes == 0) return;
  const size_t alignment = bytes >= kHugePage ? kHugePage : kLine;
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, bytes) == 0) data_ = static_cast<std::byte*>(memory);
  if (data_ == nullptr) throw error("no memory for a buffer of {} bytes", bytes);
  // Transparent huge pages are off unless asked for on most systems; a refusal only costs speed.
  if (bytes >= kHugePage) madvise(data_, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
}

HugeBuffer::~HugeBuffer() { std::free(data_); }

HugeBuffer::HugeBuffer(HugeBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

HugeBuffer& HugeBuffer::operator=(HugeBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void HugeBuffer::reserve(size_t bytes) {
  if (bytes <= size_) return;
  *this = HugeBuffer();  // give the old one back first: both may not fit
  *this = HugeBuffer(bytes);
}

std::byte* scratch(Scratch slot, size_t bytes) {
  thread_local std::array<HugeBuffer, 7> buffers;
  HugeBuffer& buffer = buffers[static_cast<size_t>(slot)];
  buffer.reserve(bytes);
  return buffer.data();
}

}  // namespace bertrain
