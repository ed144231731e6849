// Shorthands of arithmetic: operators, and tensors of one value.
#include <numeric>

#include "base/error.h"
#include "tensor/ops/ops.h"

namespace bertrain {
namespace {

Array scalar_of(DType dtype, double value) {
  switch (dtype) {
    case DType::f32:
      return scalar<float>(static_cast<float>(value));
    case DType::bf16:
      return scalar<uint16_t>(f32_to_bf16(static_cast<float>(value)));
    case DType::i32:
      return scalar<int32_t>(static_cast<int32_t>(value));
    case DType::u32:
      return scalar<uint32_t>(static_cast<uint32_t>(value));
    case DType::boolean:
      return scalar<bool>(value != 0);
    default:
      throw std::logic_error(fmt::format("no constants of {}", name_of(dtype)));
  }
}

Tensor like(Tensor x, double value) { return full(x.graph(), x.shape(), value, x.dtype()); }

}  // namespace

Tensor full(Graph& graph, Shape shape, double value, DType dtype) {
  Tensor one = graph.constant(scalar_of(dtype, value));
  return shape.empty() ? one : broadcast(one, std::move(shape), {});
}

Tensor broadcast_last(Tensor x, int64_t count) {
  Shape shape = x.shape();
  std::vector<int64_t> axes(shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  shape.push_back(count);
  return broadcast(x, std::move(shape), std::move(axes));
}

Tensor operator+(Tensor a, Tensor b) { return add(a, b); }
Tensor operator-(Tensor a, Tensor b) { return subtract(a, b); }
Tensor operator*(Tensor a, Tensor b) { return multiply(a, b); }
Tensor operator/(Tensor a, Tensor b) { return divide(a, b); }
Tensor operator+(Tensor a, double b) { return add(a, like(a, b)); }
Tensor operator-(Tensor a, double b) { return subtract(a, like(a, b)); }
Tensor operator-(double a, Tensor b) { return subtract(like(b, a), b); }
Tensor operator*(Tensor a, double b) { return multiply(a, like(a, b)); }

}  // namespace bertrain
