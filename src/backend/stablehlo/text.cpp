// Types, constants and lines of StableHLO's text form.
#include "backend/stablehlo/text.h"

#include <bit>
#include <cstring>

#include "base/error.h"

namespace bertrain {
namespace {

// The number as an element of that type; floats by their bits, so that none is lost.
std::string number_text(DType dtype, double number) {
  auto narrow = static_cast<float>(number);
  switch (dtype) {
    case DType::f32:
      return fmt::format("0x{:08X}", std::bit_cast<uint32_t>(narrow));
    case DType::bf16:
      return fmt::format("0x{:04X}", f32_to_bf16(narrow));
    case DType::boolean:
      return number != 0 ? "true" : "false";
    case DType::f16:
      check(false, "f16 constants are not written");
      return {};
    default:
      return std::to_string(static_cast<int64_t>(number));
  }
}

// Bytes in memory order, as a dense<"0x…"> literal takes them.
std::string bytes_text(std::span<const std::byte> bytes) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string text;
  text.reserve(2 * bytes.size());
  for (std::byte b : bytes) {
    text += kDigits[std::to_integer<unsigned>(b) >> 4];
    text += kDigits[std::to_integer<unsigned>(b) & 15];
  }
  return text;
}

bool is_uniform(const Array& array) {
  size_t width = size_of(array.type.dtype);
  std::span<const std::byte> raw = array.raw();
  for (size_t at = width; at < raw.size(); at += width) {
    if (std::memcmp(raw.data(), raw.data() + at, width) != 0) return false;
  }
  return true;
}

}  // namespace

// As everywhere but for integers without a sign and truth values.
std::string element_text(DType dtype) {
  switch (dtype) {
    case DType::u32:
      return "ui32";
    case DType::u8:
      return "ui8";
    case DType::boolean:
      return "i1";
    default:
      return std::string(name_of(dtype));
  }
}

std::string type_text(const ArrayType& type) {
  std::string text = "tensor<";
  for (int64_t extent : type.shape) text += std::to_string(extent) + "x";
  return text + element_text(type.dtype) + ">";
}

std::string list_text(std::span<const int64_t> list) {
  return fmt::format("{}", fmt::join(list, ", "));
}

std::string names_text(std::span<const Value> values) {
  std::string text;
  for (const Value& v : values) text += (text.empty() ? "" : ", ") + v.name;
  return text;
}

std::string types_text(std::span<const Value> values) {
  std::string text;
  for (const Value& v : values) text += (text.empty() ? "" : ", ") + type_text(v.type);
  return text;
}

std::string layers_text(const Shape& stack, int64_t first, int64_t last) {
  std::string text = fmt::format("{}:{}", first, last);
  for (size_t i = 1; i < stack.size(); ++i) text += fmt::format(", 0:{}", stack[i]);
  return text;
}

std::string signature_text(std::span<const Value> operands, const ArrayType& result) {
  return "(" + types_text(operands) + ") -> " + type_text(result);
}

std::string Text::fresh() { return "%v" + std::to_string(next_++); }

void Text::line(std::string_view text) {
  text_.append(static_cast<size_t>(2 * depth_), ' ').append(text) += '\n';
}

void Text::open(std::string_view text) {
  if (!text.empty()) line(text);
  ++depth_;
}

void Text::close(std::string_view text) {
  --depth_;
  line(text);
}

Value Text::value(const ArrayType& type, std::string_view text) {
  std::string name = fresh();
  line(name + " = " + std::string(text));
  return {name, type};
}

ValueList Text::values(std::span<const ArrayType> types, std::string_view text) {
  if (types.size() == 1) return {value(types[0], text)};
  std::string name = fresh();
  line(fmt::format("{}:{} = {}", name, types.size(), text));
  ValueList all;
  for (size_t i = 0; i < types.size(); ++i)
    all.push_back({fmt::format("{}#{}", name, i), types[i]});
  return all;
}

Value Text::constant(const Array& array) {
  const ArrayType& type = array.type;
  if (array.size() > 0 && is_uniform(array)) {
    Array one{{type.dtype, {}}, array.bytes};
    double number = 0;
    switch (type.dtype) {
      case DType::f32:
        number = one.as<float>()[0];
        break;
      case DType::bf16:
        number = bf16_to_f32(one.as<uint16_t>()[0]);
        break;
      case DType::i32:
        number = one.as<int32_t>()[0];
        break;
      case DType::i64:
        return value(type, fmt::format("stablehlo.constant dense<{}> : {}", one.as<int64_t>()[0],
                                       type_text(type)));
      case DType::u32:
        number = one.as<uint32_t>()[0];
        break;
      case DType::u8:
        number = one.as<uint8_t>()[0];
        break;
      case DType::boolean:
        number = one.as<bool>()[0] ? 1 : 0;
        break;
      case DType::f16:
        check(false, "f16 constants are not written");
        break;
    }
    return full(type, number);
  }
  if (type.dtype == DType::boolean) {
    // A literal packs its bits; a byte each says the same without.
    ArrayType wide{DType::u8, type.shape};
    Value bytes = constant(Array{wide, array.bytes});
    return value(type, fmt::format("stablehlo.convert {} : {}", bytes.name,
                                   signature_text({&bytes, 1}, type)));
  }
  std::string literal = array.size() == 0 ? "" : "\"0x" + bytes_text(array.raw()) + "\"";
  return value(type, fmt::format("stablehlo.constant dense<{}> : {}", literal, type_text(type)));
}

Value Text::full(const ArrayType& type, double number) {
  return value(type, fmt::format("stablehlo.constant dense<{}> : {}",
                                 elements(type.shape) == 0 ? "" : number_text(type.dtype, number),
                                 type_text(type)));
}

Value Text::scalar(DType dtype, double number) { return full({dtype, {}}, number); }

}  // namespace bertrain
