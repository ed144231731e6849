// Loops over elements of equal shapes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/reference/primitives.h"
#include "base/error.h"
#include "tensor/ops/op_table.h"
#include "tensor/ops/ops.h"

namespace bertrain {
namespace {

template <class T, class F>
Array mapped(const Array& a, const Array& b, F f) {
  auto x = a.as<T>(), y = b.as<T>();
  return filled<T>(a.type.dtype, a.type.shape, [&](T* to) {
    for (size_t i = 0; i < x.size(); ++i) to[i] = f(x[i], y[i]);
  });
}

template <class F>
Array mapped(const Array& a, F f) {
  auto x = a.as<float>();
  return filled<float>(DType::f32, a.type.shape, [&](float* to) {
    for (size_t i = 0; i < x.size(); ++i) to[i] = f(x[i]);
  });
}

float float_op(const Op* op, float a, float b) {
  if (op == &kAdd) return a + b;
  if (op == &kSubtract) return a - b;
  if (op == &kMultiply) return a * b;
  if (op == &kDivide) return a / b;
  if (std::isnan(a)) return a;  // a maximum never hides a NaN
  return a >= b ? a : b;
}

// Integers wrap: u32 is also what i32 is computed in, but for order and division.
uint32_t integer_op(const Op* op, uint32_t a, uint32_t b, bool has_sign) {
  auto sa = static_cast<int32_t>(a), sb = static_cast<int32_t>(b);
  if (op == &kAdd) return a + b;
  if (op == &kSubtract) return a - b;
  if (op == &kMultiply) return a * b;
  if (op == &kBitAnd) return a & b;
  if (op == &kBitOr) return a | b;
  if (op == &kBitXor) return a ^ b;
  if (op == &kShiftLeft) return b < 32 ? a << b : 0;
  if (op == &kShiftRight) return b < 32 ? a >> b : 0;
  if (op == &kMaximum) return has_sign ? static_cast<uint32_t>(std::max(sa, sb)) : std::max(a, b);
  if (b == 0) throw error("division by zero");
  if (!has_sign) return a / b;
  return sb == -1 ? 0u - a : static_cast<uint32_t>(sa / sb);
}

template <class T>
bool holds(Compare direction, T a, T b) {
  switch (direction) {
    case Compare::equal:
      return a == b;
    case Compare::not_equal:
      return a != b;
    case Compare::less:
      return a < b;
    case Compare::less_equal:
      return a <= b;
    case Compare::greater:
      return a > b;
    case Compare::greater_equal:
      return a >= b;
  }
  throw std::logic_error("unknown comparison");
}

template <class T>
Array compared(Compare direction, const Array& a, const Array& b) {
  auto x = a.as<T>(), y = b.as<T>();
  return filled<bool>(DType::boolean, a.type.shape, [&](bool* to) {
    for (size_t i = 0; i < x.size(); ++i) to[i] = holds(direction, x[i], y[i]);
  });
}

// An element of any dtype as the number it is; double holds every i32, u32 and f32 exactly.
double number_at(const Array& x, size_t i) {
  switch (x.type.dtype) {
    case DType::f32:
      return x.as<float>()[i];
    case DType::bf16:
      return bf16_to_f32(x.as<uint16_t>()[i]);
    case DType::i32:
      return x.as<int32_t>()[i];
    case DType::u32:
      return x.as<uint32_t>()[i];
    case DType::i64:
      return static_cast<double>(x.as<int64_t>()[i]);
    case DType::u8:
      return x.as<uint8_t>()[i];
    case DType::boolean:
      return x.as<bool>()[i];
    case DType::f16:
      break;
  }
  throw error("f16 is not converted");
}

// Towards zero, the nearest representable where out of range, NaN to 0.
template <class T>
T to_integer(double value) {
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(std::numeric_limits<T>::min())) {
    return std::numeric_limits<T>::min();
  }
  if (value >= static_cast<double>(std::numeric_limits<T>::max())) {
    return std::numeric_limits<T>::max();
  }
  return static_cast<T>(value);
}

template <class T, class F>
Array converted(DType dtype, const Array& x, F f) {
  return filled<T>(dtype, x.type.shape, [&](T* to) {
    for (size_t i = 0; i < static_cast<size_t>(x.size()); ++i) to[i] = f(number_at(x, i));
  });
}

}  // namespace

Array evaluate_binary(const Node& node, Arrays in) {
  const Op* op = node.op;
  switch (in[0].type.dtype) {
    case DType::f32:
      return mapped<float>(in[0], in[1], [op](float a, float b) { return float_op(op, a, b); });
    case DType::u32:
      return mapped<uint32_t>(in[0], in[1],
                              [op](uint32_t a, uint32_t b) { return integer_op(op, a, b, false); });
    case DType::i32:
      return mapped<int32_t>(in[0], in[1], [op](int32_t a, int32_t b) {
        return static_cast<int32_t>(
            integer_op(op, static_cast<uint32_t>(a), static_cast<uint32_t>(b), true));
      });
    default:
      throw error("no arithmetic of {}", name_of(in[0].type.dtype));
  }
}

// The functions are computed in double and rounded once.
Array evaluate_unary(const Node& node, Arrays in) {
  const Array& x = in[0];
  if (node.op == &kNegate && x.type.dtype != DType::f32) {
    Array zero = zeros(x.type);
    return x.type.dtype == DType::i32
               ? mapped<int32_t>(zero, x,
                                 [](int32_t, int32_t b) {
                                   return static_cast<int32_t>(0u - static_cast<uint32_t>(b));
                                 })
               : mapped<uint32_t>(zero, x, [](uint32_t a, uint32_t b) { return a - b; });
  }
  if (node.op == &kNegate) return mapped(x, [](float v) { return -v; });
  double (*f)(double) = node.op == &kExp    ? static_cast<double (*)(double)>(std::exp)
                        : node.op == &kLog  ? static_cast<double (*)(double)>(std::log)
                        : node.op == &kTanh ? static_cast<double (*)(double)>(std::tanh)
                                            : static_cast<double (*)(double)>(std::sqrt);
  bool inverse = node.op == &kRsqrt;
  return mapped(x,
                [f, inverse](float v) { return static_cast<float>(inverse ? 1.0 / f(v) : f(v)); });
}

Array evaluate_compare(const Node& node, Arrays in) {
  auto direction = static_cast<Compare>(node.integer("direction"));
  switch (in[0].type.dtype) {
    case DType::f32:
      return compared<float>(direction, in[0], in[1]);
    case DType::i32:
      return compared<int32_t>(direction, in[0], in[1]);
    case DType::u32:
      return compared<uint32_t>(direction, in[0], in[1]);
    default:
      throw error("no order of {}", name_of(in[0].type.dtype));
  }
}

Array evaluate_convert(const Node& node, Arrays in) {
  const Array& x = in[0];
  DType to = node.outputs[0].dtype;
  switch (to) {
    case DType::f32:
      return converted<float>(to, x, [](double v) { return static_cast<float>(v); });
    case DType::bf16:
      return converted<uint16_t>(to, x,
                                 [](double v) { return f32_to_bf16(static_cast<float>(v)); });
    case DType::i32:
      // A u32 keeps its bits where an f32 would be clamped: counters travel both ways.
      if (x.type.dtype == DType::u32) return Array{{to, x.type.shape}, x.bytes};
      return converted<int32_t>(to, x, to_integer<int32_t>);
    case DType::u32:
      if (x.type.dtype == DType::i32) return Array{{to, x.type.shape}, x.bytes};
      return converted<uint32_t>(to, x, to_integer<uint32_t>);
    case DType::i64:
      return converted<int64_t>(to, x, to_integer<int64_t>);
    case DType::u8:
      return converted<uint8_t>(to, x, to_integer<uint8_t>);
    case DType::boolean:
      return converted<bool>(to, x, [](double v) { return v != 0; });
    case DType::f16:
      break;
  }
  throw error("f16 is not converted");
}

}  // namespace bertrain
