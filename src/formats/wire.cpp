// The protocol-buffer wire format: keys, varints, little-endian numbers and length-delimited bytes.
#include "formats/wire.h"

#include <bit>
#include <cstring>

#include "base/error.h"

namespace bertrain {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they lie");

constexpr uint64_t kMaxField = (uint64_t{1} << 29) - 1;

template <class T>
T number_at(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

const char* name_of(WireType type) {
  switch (type) {
    case WireType::varint:
      return "a varint";
    case WireType::fixed64:
      return "8 bytes";
    case WireType::bytes:
      return "a length and bytes";
    case WireType::fixed32:
      return "4 bytes";
  }
  return "?";
}

}  // namespace

bool WireReader::next() {
  start_ = position_;
  if (position_ == message_.size()) return false;
  uint64_t key = read_varint();
  if ((key >> 3) == 0 || (key >> 3) > kMaxField) {
    throw error("protobuf message: no field {} can be, at byte {}", key >> 3, start_);
  }
  field_ = static_cast<uint32_t>(key >> 3);
  switch (key & 7) {
    case 0:
      type_ = WireType::varint;
      number_ = read_varint();
      return true;
    case 1:
      type_ = WireType::fixed64;
      number_ = number_at<uint64_t>(take(8));
      return true;
    case 2:
      type_ = WireType::bytes;
      bytes_ = take(read_varint());
      return true;
    case 5:
      type_ = WireType::fixed32;
      number_ = number_at<uint32_t>(take(4));
      return true;
    default:
      throw error("protobuf message: unknown storage type {} of field {} at byte {}", key & 7,
                  field_, start_);
  }
}

uint64_t WireReader::read_varint() {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    auto byte = std::to_integer<uint64_t>(take(1)[0]);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  throw error("protobuf message: a number of more than 10 bytes at byte {}", start_);
}

std::span<const std::byte> WireReader::take(uint64_t count) {
  size_t left = message_.size() - position_;
  if (count > left) {
    throw error("protobuf message: field at byte {} ends early: expected {} bytes, found {}",
                start_, count, left);
  }
  std::span<const std::byte> taken = message_.subspan(position_, count);
  position_ += count;
  return taken;
}

void WireReader::require(WireType type) const {
  if (type_ == type) return;
  throw error("protobuf message: field {} at byte {} is stored as {}, expected {}", field_, start_,
              name_of(type_), name_of(type));
}

uint64_t WireReader::varint() const {
  require(WireType::varint);
  return number_;
}

int64_t WireReader::zigzag() const {
  uint64_t value = varint();
  return static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

uint32_t WireReader::fixed32() const {
  require(WireType::fixed32);
  return static_cast<uint32_t>(number_);
}

uint64_t WireReader::fixed64() const {
  require(WireType::fixed64);
  return number_;
}

float WireReader::f32() const { return std::bit_cast<float>(fixed32()); }

double WireReader::f64() const { return std::bit_cast<double>(fixed64()); }

std::span<const std::byte> WireReader::bytes() const {
  require(WireType::bytes);
  return bytes_;
}

std::string_view WireReader::text() const {
  std::span<const std::byte> b = bytes();
  return {reinterpret_cast<const char*>(b.data()), b.size()};
}

void WireReader::append_varints(std::vector<int64_t>& values) const {
  if (type_ == WireType::varint) return values.push_back(static_cast<int64_t>(number_));
  WireReader packed(bytes());
  packed.start_ = start_;
  while (packed.position_ < packed.message_.size()) {
    values.push_back(static_cast<int64_t>(packed.read_varint()));
  }
}

void WireReader::append_floats(std::vector<float>& values) const {
  if (type_ == WireType::fixed32) return values.push_back(f32());
  std::span<const std::byte> packed = bytes();
  if (packed.size() % sizeof(float) != 0) {
    throw error("protobuf message: field {} at byte {}: {} bytes are no whole number of floats",
                field_, start_, packed.size());
  }
  if (packed.empty()) return;
  size_t before = values.size();
  values.resize(before + packed.size() / sizeof(float));
  std::memcpy(values.data() + before, packed.data(), packed.size());
}

size_t varint_bytes(uint64_t value) {
  return value == 0 ? 1 : (static_cast<size_t>(std::bit_width(value)) + 6) / 7;
}

void WireWriter::raw_varint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) message_ += static_cast<char>(value | 0x80);
  message_ += static_cast<char>(value);
}

void WireWriter::key(uint32_t field, WireType type) {
  check(field >= 1 && field <= kMaxField, "a field number");
  raw_varint(uint64_t{field} << 3 | static_cast<uint64_t>(type));
}

void WireWriter::varint(uint32_t field, uint64_t value) {
  key(field, WireType::varint);
  raw_varint(value);
}

void WireWriter::fixed32(uint32_t field, uint32_t value) {
  key(field, WireType::fixed32);
  message_.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void WireWriter::fixed64(uint32_t field, uint64_t value) {
  key(field, WireType::fixed64);
  message_.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void WireWriter::f32(uint32_t field, float value) {
  fixed32(field, std::bit_cast<uint32_t>(value));
}

void WireWriter::f64(uint32_t field, double value) {
  fixed64(field, std::bit_cast<uint64_t>(value));
}

void WireWriter::bytes(uint32_t field, std::string_view value) {
  key(field, WireType::bytes);
  raw_varint(value.size());
  message_ += value;
}

void WireWriter::packed_varints(uint32_t field, std::span<const int64_t> values) {
  size_t size = 0;
  for (int64_t v : values) size += varint_bytes(static_cast<uint64_t>(v));
  key(field, WireType::bytes);
  raw_varint(size);
  for (int64_t v : values) raw_varint(static_cast<uint64_t>(v));
}

void WireWriter::packed_floats(uint32_t field, std::span<const float> values) {
  bytes(field, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}

}  // namespace bertrain
