// Host values: a typed, row-major, immutable block of numbers with a shape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bertrain {

enum class DType : uint8_t { f32, bf16, f16, i32, i64, u32, u8, boolean };
using Shape = std::vector<int64_t>;  // outermost first: [B, S, H]

struct ArrayType {
  DType dtype = DType::f32;
  Shape shape;
  bool operator==(const ArrayType&) const = default;
};

size_t size_of(DType dtype);                   // bytes of one element
std::string_view name_of(DType dtype);         // "f32"
int64_t elements(const Shape& shape);          // product; throws Error when negative or beyond 2^62
std::string to_string(const Shape& shape);     // "[2, 3]"
std::string to_string(const ArrayType& type);  // "f32 [2, 3]"
float bf16_to_f32(uint16_t bits);
uint16_t f32_to_bf16(float value);  // round to nearest even; NaN stays NaN

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType value = DType::i64;
};
template <>
struct DTypeOf<uint32_t> {
  static constexpr DType value = DType::u32;
};
template <>
struct DTypeOf<uint16_t> {
  static constexpr DType value = DType::bf16;
};  // raw bits of bf16
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType value = DType::u8;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::boolean;
};

struct Array {
  ArrayType type;
  std::shared_ptr<const std::byte[]> bytes;  // owned, mapped, or a slice of another

  int64_t size() const { return elements(type.shape); }
  size_t byte_size() const { return static_cast<size_t>(size()) * size_of(type.dtype); }
  std::span<const std::byte> raw() const { return {bytes.get(), byte_size()}; }

  // The values; throws a std::logic_error if T is not the dtype.
  template <class T>
  std::span<const T> as() const {
    require(DTypeOf<T>::value);
    return {reinterpret_cast<const T*>(bytes.get()), static_cast<size_t>(size())};
  }

 private:
  void require(DType dtype) const;
};

// A new array filled by `fill`, which gets zeroed memory of the right size (64-byte aligned).
Array make_array(ArrayType type, const std::function<void(std::span<std::byte>)>& fill);
Array zeros(ArrayType type);

// An array of the given values; throws a std::logic_error if the count does not fit the shape.
template <class T>
Array make_array(Shape shape, std::span<const T> values);
template <class T>
Array make_array(Shape shape, const std::vector<T>& values) {
  return make_array<T>(std::move(shape), std::span<const T>(values));
}
template <class T>
Array scalar(T value) {
  return make_array<T>(Shape{}, std::span<const T>(&value, 1));
}

// Parts of one type, joined along axis 0; throws a std::logic_error if there is none, or one without
// axes. A single part is returned as it is.
Array join_parts(const std::vector<Array>& parts);
// The inverse: `count` equal parts along axis 0, which share the array's memory.
std::vector<Array> split_parts(const Array& array, int64_t count);

template <class T>
using Named = std::map<std::string, T, std::less<>>;

uint64_t bytes_of(const Named<ArrayType>& types);  // of all their values

}  // namespace bertrain
