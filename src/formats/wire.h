// Protocol-buffer messages as bytes: fields read one by one with every length checked, and written
// in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bertrain {

// How a field's value is stored (protobuf encoding guide). Groups are long obsolete and refused.
enum class WireType : uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

// Walks the fields of one message. The message must outlive the reader and the spans it gives.
// Anything malformed throws an Error with the byte in the message; callers put the place in front
// with Error::within.
//
//   WireReader m(bytes);
//   while (m.next()) {
//     if (m.field() == 1) name = m.text();
//   }
class WireReader {
 public:
  explicit WireReader(std::span<const std::byte> message) : message_(message) {}
  explicit WireReader(std::string_view message) : WireReader(std::as_bytes(std::span(message))) {}

  bool
  next();  // to the next field, whether or not the last one's value was asked for; false at the end
  uint32_t field() const { return field_; }
  WireType type() const { return type_; }

  // The value of the present field; an Error if it is stored in another way.
  uint64_t varint() const;  // also bool, enum, int32 and int64 (cast)
  int64_t zigzag() const;   // sint32, sint64
  uint32_t fixed32() const;
  uint64_t fixed64() const;
  float f32() const;
  double f64() const;
  std::span<const std::byte> bytes() const;
  std::string_view text() const;

  // Adds a repeated field's value or values, packed or not.
  void append_varints(std::vector<int64_t>& values) const;
  void append_floats(std::vector<float>& values) const;

 private:
  uint64_t read_varint();
  std::span<const std::byte> take(uint64_t count);
  void require(WireType type) const;
  std::span<const std::byte> message_;
  size_t position_ = 0, start_ = 0;  // after the present field; where it begins
  uint32_t field_ = 0;
  WireType type_ = WireType::varint;
  uint64_t number_ = 0;               // of varint, fixed32, fixed64
  std::span<const std::byte> bytes_;  // of bytes
};

// Appends fields to a message.
class WireWriter {
 public:
  void varint(uint32_t field, uint64_t value);
  void fixed32(uint32_t field, uint32_t value);
  void fixed64(uint32_t field, uint64_t value);
  void f32(uint32_t field, float value);
  void f64(uint32_t field, double value);
  void bytes(uint32_t field, std::string_view value);  // strings, bytes and messages
  void packed_varints(uint32_t field, std::span<const int64_t> values);
  void packed_floats(uint32_t field, std::span<const float> values);
  const std::string& message() const { return message_; }

 private:
  void key(uint32_t field, WireType type);
  void raw_varint(uint64_t value);
  std::string message_;
};

size_t varint_bytes(uint64_t value);  // 1 to 10

}  // namespace bertrain
