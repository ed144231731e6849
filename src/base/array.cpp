// Host arrays: sizes, names, construction.
#include "base/array.h"

#include <cstring>
#include <new>

#include "base/error.h"

namespace bertrain {

size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::i32:
    case DType::u32:
      return 4;
    case DType::bf16:
    case DType::f16:
      return 2;
    case DType::i64:
      return 8;
    case DType::u8:
    case DType::boolean:
      return 1;
  }
  throw std::logic_error("unknown dtype");
}

std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::bf16:
      return "bf16";
    case DType::f16:
      return "f16";
    case DType::i32:
      return "i32";
    case DType::i64:
      return "i64";
    case DType::u32:
      return "u32";
    case DType::u8:
      return "u8";
    case DType::boolean:
      return "bool";
  }
  throw std::logic_error("unknown dtype");
}

int64_t elements(const Shape& shape) {
  int64_t total = 1;
  bool empty = false;
  for (int64_t extent : shape) {
    if (extent < 0) throw error("shape {} has a negative extent", to_string(shape));
    if (extent == 0) {
      empty = true;
    } else if (total > (int64_t{1} << 62) / extent) {
      throw error("shape {} is too large", to_string(shape));
    } else {
      total *= extent;
    }
  }
  return empty ? 0 : total;
}

uint64_t bytes_of(const Named<ArrayType>& types) {
  uint64_t bytes = 0;
  for (const auto& [name, type] : types) {
    bytes += static_cast<uint64_t>(elements(type.shape)) * size_of(type.dtype);
  }
  return bytes;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::string to_string(const ArrayType& type) {
  return std::string(name_of(type.dtype)) + " " + to_string(type.shape);
}

float bf16_to_f32(uint16_t bits) {
  uint32_t wide = uint32_t{bits} << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}

uint16_t f32_to_bf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

void Array::require(DType dtype) const {
  bool same_bits = size_of(dtype) == 2 && size_of(type.dtype) == 2;
  check(type.dtype == dtype || same_bits,
        fmt::format("array of {} read as {}", to_string(type), name_of(dtype)));
}

Array make_array(ArrayType type, const std::function<void(std::span<std::byte>)>& fill) {
  size_t bytes = static_cast<size_t>(elements(type.shape)) * size_of(type.dtype);
  auto* memory = static_cast<std::byte*>(::operator new (bytes + 1, std::align_val_t{64}));
  std::shared_ptr<std::byte[]> owner(
      memory, [](std::byte* p) { ::operator delete (p, std::align_val_t{64}); });
  std::memset(memory, 0, bytes);
  if (fill) fill({memory, bytes});
  return Array{std::move(type), std::move(owner)};
}

Array zeros(ArrayType type) { return make_array(std::move(type), nullptr); }

Array join_parts(const std::vector<Array>& parts) {
  check(!parts.empty() && !parts.front().type.shape.empty(),
        "parts have an axis to be joined along");
  if (parts.size() == 1) return parts.front();
  ArrayType type = parts.front().type;
  size_t bytes = parts.front().byte_size();
  type.shape[0] *= static_cast<int64_t>(parts.size());
  return make_array(type, [&](std::span<std::byte> into) {
    for (size_t i = 0; i < parts.size(); ++i) {
      check(parts[i].type == parts.front().type,
            fmt::format("parts of one type are joined, not {} and {}",
                        to_string(parts.front().type), to_string(parts[i].type)));
      if (bytes > 0) std::memcpy(into.data() + i * bytes, parts[i].bytes.get(), bytes);
    }
  });
}

std::vector<Array> split_parts(const Array& array, int64_t count) {
  ArrayType type = array.type;
  check(count >= 1 && !type.shape.empty() && type.shape[0] % count == 0,
        fmt::format("{} cannot be split into {} parts", to_string(type), count));
  type.shape[0] /= count;
  size_t bytes = static_cast<size_t>(elements(type.shape)) * size_of(type.dtype);
  std::vector<Array> parts;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    parts.push_back({type, {array.bytes, array.bytes.get() + i * bytes}});
  }
  return parts;
}

template <class T>
Array make_array(Shape shape, std::span<const T> values) {
  check(elements(shape) == static_cast<int64_t>(values.size()),
        fmt::format("{} values for shape {}", values.size(), to_string(shape)));
  return make_array(ArrayType{DTypeOf<T>::value, std::move(shape)}, [&](std::span<std::byte> into) {
    if (!values.empty()) std::memcpy(into.data(), values.data(), into.size());
  });
}
template Array make_array<float>(Shape, std::span<const float>);
template Array make_array<int32_t>(Shape, std::span<const int32_t>);
template Array make_array<int64_t>(Shape, std::span<const int64_t>);
template Array make_array<uint32_t>(Shape, std::span<const uint32_t>);
template Array make_array<uint16_t>(Shape, std::span<const uint16_t>);
template Array make_array<uint8_t>(Shape, std::span<const uint8_t>);
template Array make_array<bool>(Shape, std::span<const bool>);

}  // namespace bertrain
