// A StableHLO module while it is written: lines, names of values, types as text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/array.h"

namespace bertrain {

// A value of the module: "%v12", or "%v12#0" where one line gives several.
struct Value {
  std::string name;
  ArrayType type;
};
using ValueList = std::vector<Value>;

std::string type_text(const ArrayType& type);     // "tensor<2x3xf32>"
std::string element_text(DType dtype);            // "f32", "ui32", "i1"
std::string list_text(std::span<const int64_t>);  // "0, 2, 1"
std::string names_text(std::span<const Value>);   // "%a, %b"
std::string types_text(std::span<const Value>);   // "tensor<f32>, tensor<i32>"
// "2:5, 0:3, 0:4": of a stack [layers, 3, 4], the layers first … last − 1
std::string layers_text(const Shape& stack, int64_t first, int64_t last);
// "(tensor<f32>, tensor<i32>) -> tensor<f32>"
std::string signature_text(std::span<const Value> operands, const ArrayType& result);

class Text {
 public:
  // "  %vN = TEXT\n"; the name of the value is new.
  Value value(const ArrayType& type, std::string_view text);
  // "  %vN:K = TEXT\n" for K > 1 values.
  ValueList values(std::span<const ArrayType> types, std::string_view text);
  void line(std::string_view text);  // indented as deep as the regions that are open
  void open(std::string_view text);  // the same (no line for ""), and deeper from now on
  void close(std::string_view text);
  std::string fresh();  // a name that nothing has, "%v12"

  Value constant(const Array& value);
  Value scalar(DType dtype, double number);          // tensor<T>
  Value full(const ArrayType& type, double number);  // one number everywhere

  const std::string& str() const { return text_; }

 private:
  std::string text_;
  int64_t next_ = 0;
  int depth_ = 1;
};

}  // namespace bertrain
