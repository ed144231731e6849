// A reader that widens as it reads.
#include "checkpoint/widened.h"

#include <bit>
#include <utility>

namespace bertrain {
namespace {

bool is_short_float(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

float widened_half(uint16_t bits) {
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000U) << 16, exponent = (bits >> 10) & 31U,
           fraction = bits & 0x3ffU;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000U | (fraction << 13));
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  float tiny = static_cast<float>(fraction) * 0x1p-24F;  // subnormal, or 0
  return std::bit_cast<float>(std::bit_cast<uint32_t>(tiny) | sign);
}

class WideningReader : public CheckpointReader {
 public:
  explicit WideningReader(std::unique_ptr<CheckpointReader> from) : from_(std::move(from)) {
    for (auto [name, type] : from_->tensors()) {
      if (is_short_float(type.dtype)) type.dtype = DType::f32;
      types_.emplace(name, type);
    }
  }
  const Named<ArrayType>& tensors() const override { return types_; }
  const std::string& uri() const override { return from_->uri(); }
  std::vector<std::string> left_out() const override { return from_->left_out(); }
  Array read(std::string_view name) const override {
    Array array = from_->read(name);
    if (!is_short_float(array.type.dtype)) return array;
    bool half = array.type.dtype == DType::f16;
    return make_array({DType::f32, array.type.shape}, [&](std::span<std::byte> into) {
      const auto* from = reinterpret_cast<const uint16_t*>(array.bytes.get());
      auto* to = reinterpret_cast<float*>(into.data());
      for (int64_t i = 0; i < array.size(); ++i) {
        to[i] = half ? widened_half(from[i]) : std::bit_cast<float>(uint32_t{from[i]} << 16);
      }
    });
  }

 private:
  std::unique_ptr<CheckpointReader> from_;
  Named<ArrayType> types_;
};

}  // namespace

std::unique_ptr<CheckpointReader> widen_floats(std::unique_ptr<CheckpointReader> from) {
  return std::make_unique<WideningReader>(std::move(from));
}

}  // namespace bertrain
