// Where nlohmann's own printing differs: the digits of numbers, and empty lists among indented ones.
#include "task/squad/python_json.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

namespace bertrain {
namespace {

void append(const Json& value, int indent, int level, std::string& out) {
  auto between = [&](int depth) {
    if (indent >= 0) out += '\n' + std::string(static_cast<size_t>(indent * depth), ' ');
  };
  if (value.is_number_float()) {
    out += python_number(value.get<double>());
  } else if (value.is_string()) {
    out += python_text(value.get_ref<const std::string&>());
  } else if (!value.is_structured()) {
    out += value.dump();
  } else if (value.empty()) {
    out += value.is_object() ? "{}" : "[]";
  } else {
    bool first = true;
    out += value.is_object() ? '{' : '[';
    for (const auto& item : value.items()) {
      if (!first) out += indent >= 0 ? "," : ", ";
      first = false;
      between(level + 1);
      if (value.is_object()) out += python_text(item.key()) + ": ";
      append(item.value(), indent, level + 1, out);
    }
    between(level);
    out += value.is_object() ? '}' : ']';
  }
}

}  // namespace

std::string python_json(const Json& value, int indent) {
  std::string out;
  append(value, indent, 0, out);
  return out;
}

std::string python_text(std::string_view text) {
  return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string python_number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  char buffer[32];
  auto written =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  std::string_view shortest(buffer, static_cast<size_t>(written.ptr - buffer));
  size_t e = shortest.find('e');
  int exponent = std::atoi(std::string(shortest.substr(e + 1)).c_str());
  if (exponent < -4 || exponent >= 16)
    return std::string(shortest);  // two digits at least, as Python
  std::string sign = shortest.front() == '-' ? "-" : "", digits;
  for (char c : shortest.substr(0, e)) {
    if (c >= '0' && c <= '9') digits += c;
  }
  if (exponent < 0)
    return sign + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  auto whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) return sign + digits + std::string(whole - digits.size(), '0') + ".0";
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

}  // namespace bertrain
