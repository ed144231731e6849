// Values for the cases, and their names.
#include "case.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/error.h"
#include "base/rng.h"

namespace bertrain {
namespace {

Array floats(DType dtype, Shape shape, const std::function<double(size_t)>& value) {
  check(dtype == DType::f32 || dtype == DType::bf16, "floats are f32 or bf16");
  return make_array(ArrayType{dtype, shape}, [&](std::span<std::byte> bytes) {
    auto count = static_cast<size_t>(elements(shape));
    for (size_t i = 0; i < count; ++i) {
      auto v = static_cast<float>(value(i));
      if (dtype == DType::f32) {
        reinterpret_cast<float*>(bytes.data())[i] = v;
      } else {
        reinterpret_cast<uint16_t*>(bytes.data())[i] = f32_to_bf16(v);
      }
    }
  });
}

}  // namespace

std::string Case::label() const {
  std::string text;
  for (const Array& a : inputs) text += (text.empty() ? "" : ", ") + to_string(a.type);
  return fmt::format("{}({})", op->name, text);
}

Cases all_cases() {
  Cases all = primitive_cases();
  for (const Cases& more : {composite_cases(), gradient_cases()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

const std::vector<AttentionLayout>& attention_layouts() {
  static const std::vector<AttentionLayout> layouts = {
      {1, 1, 1, 1, {1}},         {1, 5, 1, 3, {5}},        {2, 7, 3, 2, {4, 2}},
      {1, 23, 2, 5, {7, 1, 13}}, {1, 70, 2, 16, {33, 35}}, {1, 200, 2, 64, {130, 61}}};
  return layouts;
}

double Values::next() { return threefry({seed_, 0}, {count_++, 0})[0] / 4294967296.0; }

Array Values::normal(DType dtype, Shape shape) {
  return floats(dtype, std::move(shape), [&](size_t) {
    return truncated_normal({seed_, 1}, count_++);
  });
}

Array Values::uniform(DType dtype, Shape shape, double low, double high) {
  return floats(dtype, std::move(shape), [&](size_t) { return low + (high - low) * next(); });
}

Array Values::spaced(DType dtype, Shape shape) {
  auto count = static_cast<size_t>(elements(shape));
  std::vector<int> order(count);
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = count; i-- > 1;) {
    std::swap(order[i], order[static_cast<size_t>(next() * static_cast<double>(i + 1))]);
  }
  // Odd multiples of 1/8 are exact in bf16 as far as these counts go.
  return floats(dtype, std::move(shape),
                [&](size_t i) { return (2 * (order[i] - static_cast<int>(count) / 2) + 1) / 8.0; });
}

Array Values::ids(Shape shape, int64_t bound) {
  std::vector<int32_t> values(static_cast<size_t>(elements(shape)));
  for (int32_t& v : values) v = static_cast<int32_t>(next() * static_cast<double>(bound));
  return make_array<int32_t>(std::move(shape), values);
}

Array Values::bits(Shape shape) {
  std::vector<uint32_t> values(static_cast<size_t>(elements(shape)));
  for (uint32_t& v : values) v = threefry({seed_, 2}, {count_++, 0})[1];
  return make_array<uint32_t>(std::move(shape), values);
}

Array Values::flags(Shape shape) {
  auto count = static_cast<size_t>(elements(shape));
  return make_array(ArrayType{DType::boolean, std::move(shape)}, [&](std::span<std::byte> bytes) {
    for (size_t i = 0; i < count; ++i) bytes[i] = std::byte{next() < 0.5};
  });
}

Slots packed_slots(int64_t rows, int64_t slots, const std::vector<int64_t>& lengths) {
  auto count = static_cast<size_t>(rows * slots);
  std::vector<int32_t> example(count, -1), is_key(count, 0), position(count, 0);
  std::vector<uint32_t> number(count, 0);
  int32_t next = 0;
  for (int64_t row = 0; row < rows; ++row) {
    auto at = static_cast<size_t>(row * slots);
    for (int64_t length : lengths) {
      for (int64_t p = 0; p < length; ++p, ++at) {
        check(at < static_cast<size_t>((row + 1) * slots), "the examples do not fit");
        example[at] = next;
        number[at] = static_cast<uint32_t>(next) + 1000;  // numbers count in the global batch
        position[at] = static_cast<int32_t>(p);
        is_key[at] = p % 5 != 3;  // as padding inside an example is not
      }
      ++next;
    }
  }
  Shape shape = {rows, slots};
  return {make_array<int32_t>(shape, example), make_array<int32_t>(shape, is_key),
          make_array<uint32_t>(shape, number), make_array<int32_t>(shape, position)};
}

}  // namespace bertrain
