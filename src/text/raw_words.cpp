// The slow part of the scan: the end of a raw word that is not plain ASCII.
#include "text/raw_words.h"

namespace bertrain {

size_t raw_word_bytes(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    Decoded d = decode_utf8(text.substr(at));
    uint16_t flags = character(d.code_point).flags;
    if (flags & kBlank) break;
    if (flags & kIdeograph) return at == 0 ? d.bytes : at;
    at += d.bytes;
  }
  return at;
}

bool has_capital_sigma(std::string_view raw) {
  return raw.find("\u03A3") != std::string_view::npos;
}

}  // namespace bertrain
