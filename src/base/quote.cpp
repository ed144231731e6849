// Escapes and cuts.
#include "base/quote.h"

#include <fmt/format.h>

namespace bertrain {
namespace {

void append_escaped(std::string& result, char c) {
  auto byte = static_cast<unsigned char>(c);
  if (c == '\n') {
    result += "\\n";
  } else if (c == '\t') {
    result += "\\t";
  } else if (c == '\r') {
    result += "\\r";
  } else if (byte < 0x20 || byte == 0x7f) {
    result += fmt::format("\\x{:02x}", byte);
  } else {
    result += c;
  }
}

}  // namespace

std::string printable(std::string_view text, std::string_view kept) {
  std::string result;
  for (char c : text) {
    if (kept.find(c) != kept.npos) {
      result += c;
    } else {
      append_escaped(result, c);
    }
  }
  return result;
}

std::string quote(std::string_view text) {
  constexpr size_t kMost = 100;
  std::string_view shown = text.substr(0, kMost);
  if (shown.size() < text.size()) {
    // Bytes 10xxxxxx go on with a character: it is cut off whole.
    while (!shown.empty() && (static_cast<unsigned char>(text[shown.size()]) & 0xc0) == 0x80) {
      shown.remove_suffix(1);
    }
  }
  std::string result = "'";
  for (char c : shown) append_escaped(result, c);
  if (shown.size() < text.size()) result += "…";
  return result + "'";
}

std::string quote_list(const std::vector<std::string>& texts) {
  constexpr size_t kMost = 20;
  std::string list;
  for (size_t i = 0; i < texts.size() && i < kMost; ++i) {
    list += (list.empty() ? "" : ", ") + quote(texts[i]);
  }
  if (texts.size() > kMost) list += fmt::format(", and {} more", texts.size() - kMost);
  return list;
}

std::string some_of(const std::vector<std::string>& names, std::string_view separator) {
  constexpr size_t kMost = 20;
  std::string list;
  for (size_t i = 0; i < names.size() && i < kMost; ++i) {
    if (i > 0) list += separator;
    list += names[i];
  }
  if (names.size() > kMost) list += fmt::format(" and {} more", names.size() - kMost);
  return list;
}

}  // namespace bertrain
