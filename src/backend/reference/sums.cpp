// Loops that add up, in double and in row-major order.
#include <algorithm>
#include <cmath>

#include "backend/reference/primitives.h"
#include "base/error.h"

namespace bertrain {
namespace {

// For each axis of the input the step in the result; none along the axes that vanish.
std::vector<int64_t> steps_without(const Shape& shape, const std::vector<int64_t>& gone,
                                   const Shape& result) {
  std::vector<int64_t> kept = steps_of(result), steps(shape.size(), 0);
  size_t next = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    bool vanishes = std::find(gone.begin(), gone.end(), static_cast<int64_t>(i)) != gone.end();
    if (!vanishes) steps[i] = kept[next++];
  }
  return steps;
}

template <class T, class Sum>
Array summed(const Node& node, const Array& x) {
  const Shape& shape = node.outputs[0].shape;
  std::vector<Sum> sums(static_cast<size_t>(elements(shape)), 0);
  auto values = x.as<T>();
  walk(x.type.shape, steps_without(x.type.shape, node.list("axes"), shape),
       [&](int64_t i, int64_t at) {
         sums[static_cast<size_t>(at)] += values[static_cast<size_t>(i)];
       });
  return filled<T>(x.type.dtype, shape, [&](T* to) {
    for (Sum sum : sums) *to++ = static_cast<T>(sum);
  });
}

template <class T>
Array largest(const Node& node, const Array& x) {
  const Shape& shape = node.outputs[0].shape;
  std::vector<bool> seen(static_cast<size_t>(elements(shape)), false);
  auto values = x.as<T>();
  return filled<T>(x.type.dtype, shape, [&](T* to) {
    walk(x.type.shape, steps_without(x.type.shape, node.list("axes"), shape),
         [&](int64_t i, int64_t at) {
           T value = values[static_cast<size_t>(i)];
           // A NaN stays: nothing compares as at most NaN, and NaN is at most nothing.
           bool found_nan = seen[static_cast<size_t>(at)] && to[at] != to[at];
           if (!seen[static_cast<size_t>(at)] || (!found_nan && !(value <= to[at]))) to[at] = value;
           seen[static_cast<size_t>(at)] = true;
         });
  });
}

std::vector<float> rows_first(const float* x, int64_t rows, int64_t columns, bool transposed) {
  std::vector<float> y(static_cast<size_t>(rows * columns));
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      y[static_cast<size_t>(r * columns + c)] = transposed ? x[c * rows + r] : x[r * columns + c];
    }
  }
  return y;
}

}  // namespace

Array evaluate_iota(const Node& node, Arrays) {
  DType dtype = node.outputs[0].dtype;
  const Shape& shape = node.outputs[0].shape;
  std::vector<int64_t> steps(shape.size(), 0);
  steps[static_cast<size_t>(node.integer("axis"))] = 1;
  if (dtype == DType::f32 || dtype == DType::bf16) {
    return filled<float>(DType::f32, shape, [&](float* to) {
      walk(shape, steps, [&](int64_t i, int64_t at) { to[i] = static_cast<float>(at); });
    });
  }
  if (dtype != DType::i32 && dtype != DType::u32) throw error("no iota of {}", name_of(dtype));
  return filled<uint32_t>(dtype, shape, [&](uint32_t* to) {
    walk(shape, steps, [&](int64_t i, int64_t at) { to[i] = static_cast<uint32_t>(at); });
  });
}

Array evaluate_reduce_sum(const Node& node, Arrays in) {
  return in[0].type.dtype == DType::i32 ? summed<int32_t, int64_t>(node, in[0])
                                        : summed<float, double>(node, in[0]);
}

Array evaluate_reduce_max(const Node& node, Arrays in) {
  return in[0].type.dtype == DType::i32 ? largest<int32_t>(node, in[0])
                                        : largest<float>(node, in[0]);
}

Array evaluate_matmul(const Node& node, Arrays in) {
  const Shape &a = in[0].type.shape, &y = node.outputs[0].shape;
  size_t r = a.size();
  bool ta = node.integer("transpose_a") != 0, tb = node.integer("transpose_b") != 0;
  int64_t rows = y[r - 2], columns = y[r - 1], inner = a[ta ? r - 2 : r - 1];
  int64_t count = elements(Shape(y.begin(), y.end() - 2));
  return filled<float>(DType::f32, y, [&](float* to) {
    std::vector<double> sum(static_cast<size_t>(columns));
    for (int64_t n = 0; n < count; ++n) {
      auto left = rows_first(in[0].as<float>().data() + n * rows * inner, rows, inner, ta);
      auto right = rows_first(in[1].as<float>().data() + n * inner * columns, inner, columns, tb);
      for (int64_t i = 0; i < rows; ++i) {
        std::fill(sum.begin(), sum.end(), 0.0);
        for (int64_t k = 0; k < inner; ++k) {
          double factor = left[static_cast<size_t>(i * inner + k)];
          const float* row = right.data() + k * columns;
          double* into = sum.data();
#pragma omp simd
          for (int64_t j = 0; j < columns; ++j) into[j] += factor * row[j];
        }
        for (double s : sum) *to++ = static_cast<float>(s);
      }
    }
  });
}

Array evaluate_scatter_add_rows(const Node& node, Arrays in) {
  const Shape& table = node.outputs[0].shape;
  int64_t width = elements(Shape(table.begin() + 1, table.end()));
  auto start = in[0].as<float>(), rows = in[2].as<float>();
  std::vector<double> sums(start.begin(), start.end());
  size_t next = 0;
  for (int32_t id : in[1].as<int32_t>()) {
    if (id < 0 || id >= table[0]) throw error("id {} is outside 0 … {}", id, table[0] - 1);
    for (int64_t c = 0; c < width; ++c) sums[static_cast<size_t>(id * width + c)] += rows[next++];
  }
  return filled<float>(DType::f32, table, [&](float* to) {
    for (double s : sums) *to++ = static_cast<float>(s);
  });
}

}  // namespace bertrain
