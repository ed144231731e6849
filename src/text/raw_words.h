// Where a text can be cut so that each part's tokens depend on that part alone: the scan under
// every tokenizer loop.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "text/unicode.h"

namespace bertrain {

// Bytes of the raw word that starts a text: a run without blanks and ideographs, or one ideograph;
// 0 before a blank.
size_t raw_word_bytes(std::string_view text);

// Only then does what stands in front of a raw word count when it is lowered.
bool has_capital_sigma(std::string_view raw);

// What the scan needs to know of a byte. `other` begins everything that is not plain: controls and
// non-ASCII.
enum class ByteKind : uint8_t { blank, letter, symbol, other };

constexpr std::array<ByteKind, 256> make_byte_kinds() {
  std::array<ByteKind, 256> kinds{};
  for (size_t c = 0; c < 256; ++c) {
    bool alphanumeric = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      kinds[c] = ByteKind::blank;
    } else if (alphanumeric) {
      kinds[c] = ByteKind::letter;
    } else {
      kinds[c] = c > 32 && c < 127 ? ByteKind::symbol : ByteKind::other;
    }
  }
  return kinds;
}
inline constexpr std::array<ByteKind, 256> kByteKinds = make_byte_kinds();

// Calls visit(kind, raw, before) for each part in order, blanks left out. `symbol`: one ASCII
// punctuation character. `letter`: a run of ASCII letters and digits. `other`: everything up to the
// next blank or ideograph, with punctuation inside. `before` is what was cut off in front of a part
// without a blank between; only the lowering of a capital sigma looks at it.
template <class Visit>
void each_raw_word(std::string_view text, Visit visit) {
  auto kind_of = [](char c) { return kByteKinds[static_cast<unsigned char>(c)]; };
  const char* const end = text.data() + text.size();
  const char* chunk = text.data();  // where what stands without blanks began
  for (const char* at = text.data(); at < end;) {
    ByteKind kind = kind_of(*at);
    if (kind == ByteKind::blank) {
      chunk = ++at;
      continue;
    }
    std::string_view before(chunk, static_cast<size_t>(at - chunk));
    if (kind == ByteKind::symbol) {
      visit(ByteKind::symbol, std::string_view(at++, 1), before);
      continue;
    }
    const char* to = at;
    while (to < end && kind_of(*to) == ByteKind::letter) ++to;
    if (to == end || kind_of(*to) != ByteKind::other) {
      visit(ByteKind::letter, std::string_view(at, static_cast<size_t>(to - at)), before);
      at = to;
      continue;
    }
    std::string_view rest(at, static_cast<size_t>(end - at));
    size_t bytes = raw_word_bytes(rest);
    if (bytes == 0) {
      bytes = decode_utf8(rest).bytes;  // a blank that is not ASCII
    } else {
      visit(ByteKind::other, rest.substr(0, bytes), before);
    }
    at += bytes;
    chunk = at;
  }
}

}  // namespace bertrain
