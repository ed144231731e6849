// Lookups in the Unicode tables, and a strict UTF-8 decoder.
#include "text/unicode.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace bertrain {
namespace {

// Hangul syllables decompose by arithmetic (The Unicode Standard, 3.12).
constexpr char32_t kHangulFirst = 0xAC00, kHangulCount = 11172;
constexpr char32_t kLeadFirst = 0x1100, kVowelFirst = 0x1161, kTailFirst = 0x11A7;
constexpr char32_t kVowelCount = 21, kTailCount = 28;

// Well-formed sequences of The Unicode Standard, table 3-7: the range of the second byte keeps
// overlong forms, surrogates and values above 0x10FFFF out.
struct Lead {
  uint32_t bytes;
  unsigned char second_low, second_high;
};

Lead lead_of(unsigned char byte) {
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte < 0xF0) {
    return {3, static_cast<unsigned char>(byte == 0xE0 ? 0xA0 : 0x80),
            static_cast<unsigned char>(byte == 0xED ? 0x9F : 0xBF)};
  }
  if (byte < 0xF5) {
    return {4, static_cast<unsigned char>(byte == 0xF0 ? 0x90 : 0x80),
            static_cast<unsigned char>(byte == 0xF4 ? 0x8F : 0xBF)};
  }
  return {0, 0, 0};
}

constexpr char32_t kReplacement = 0xFFFD;

// Length of the ASCII prefix, eight bytes at a time.
size_t ascii_prefix(std::string_view text) {
  size_t at = 0;
  uint64_t word;
  while (at + sizeof word <= text.size()) {
    std::memcpy(&word, text.data() + at, sizeof word);
    if (word & 0x8080808080808080u) break;
    at += sizeof word;
  }
  while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) ++at;
  return at;
}

}  // namespace

const CharacterInfo& character(char32_t code_point) {
  size_t block = kCharacterBlocks[code_point / kCharacterBlock];
  return kCharacterInfos[kCharacterIndex[block * kCharacterBlock + code_point % kCharacterBlock]];
}

void append_decomposed(char32_t code_point, std::u32string& out) {
  if (!(character(code_point).flags & kDecomposes)) {
    out += code_point;
    return;
  }
  char32_t syllable = code_point - kHangulFirst;  // wraps far beyond the count for anything below
  if (syllable < kHangulCount) {
    out += kLeadFirst + syllable / (kVowelCount * kTailCount);
    out += kVowelFirst + syllable / kTailCount % kVowelCount;
    if (syllable % kTailCount) out += kTailFirst + syllable % kTailCount;
    return;
  }
  const Decomposition* end = kDecompositions + kDecompositionCount;
  const Decomposition* d =
      std::lower_bound(kDecompositions, end, code_point,
                       [](const Decomposition& a, char32_t b) { return a.code_point < b; });
  check(d != end && d->code_point == code_point, "a decomposing code point is in the table");
  out.append(kDecompositionPool + d->start, d->length);
}

Decoded decode_utf8(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return {byte(0), 1, true};
  Lead lead = lead_of(byte(0));
  if (lead.bytes == 0) return {kReplacement, 1, false};
  char32_t value = byte(0) & (0x7Fu >> lead.bytes);
  for (uint32_t i = 1; i < lead.bytes; ++i) {
    unsigned char low = i == 1 ? lead.second_low : 0x80, high = i == 1 ? lead.second_high : 0xBF;
    if (i == text.size() || byte(i) < low || byte(i) > high) return {kReplacement, i, false};
    value = value << 6 | (byte(i) & 0x3F);
  }
  return {value, lead.bytes, true};
}

void append_utf8(char32_t c, std::string& out) {
  auto put = [&](char32_t byte) { out += static_cast<char>(byte); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6), put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | c >> 18), put(0x80 | (c >> 12 & 0x3F)), put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

uint64_t count_code_points(std::string_view text) {
  uint64_t count = 0;
  while (!text.empty()) {
    size_t ascii = ascii_prefix(text);
    count += ascii;
    text.remove_prefix(ascii);
    if (text.empty()) break;
    text.remove_prefix(decode_utf8(text).bytes);
    ++count;
  }
  return count;
}

std::optional<size_t> find_invalid_utf8(std::string_view text) {
  size_t at = 0;
  while (true) {
    at += ascii_prefix(text.substr(at));
    if (at == text.size()) return std::nullopt;
    Decoded d = decode_utf8(text.substr(at));
    if (!d.valid) return at;
    at += d.bytes;
  }
}

InvalidUtf8 parse_invalid_utf8(std::string_view name) {
  if (name == "error") return InvalidUtf8::error;
  if (name == "replace") return InvalidUtf8::replace;
  if (name == "ignore") return InvalidUtf8::ignore;
  throw usage_error("--invalid_utf8={}: error, replace or ignore expected", name);
}

namespace {

// `advice`: a way out beside another file.
Error invalid_at(size_t at, std::string_view text, std::string_view place,
                 std::string_view advice) {
  return error("{}: invalid UTF-8 at byte {} (0x{:02x}); convert the file{}", place, at,
               static_cast<unsigned char>(text[at]), advice);
}

}  // namespace

void require_utf8(std::string_view text, std::string_view place) {
  if (std::optional<size_t> bad = find_invalid_utf8(text)) throw invalid_at(*bad, text, place, "");
}

bool repair_utf8(std::string& text, InvalidUtf8 how, std::string_view place) {
  std::optional<size_t> bad = find_invalid_utf8(text);
  if (!bad) return false;
  if (how == InvalidUtf8::error) {
    throw invalid_at(*bad, text, place, ", or pass --invalid_utf8=replace or ignore");
  }
  std::string valid(text, 0, *bad);
  for (std::string_view rest = std::string_view(text).substr(*bad); !rest.empty();) {
    Decoded d = decode_utf8(rest);
    if (d.valid) {
      valid.append(rest.substr(0, d.bytes));
    } else if (how == InvalidUtf8::replace) {
      append_utf8(kReplacement, valid);
    }
    rest.remove_prefix(d.bytes);
  }
  text = std::move(valid);
  return true;
}

std::string_view strip(std::string_view text) {
  while (!text.empty()) {
    Decoded d = decode_utf8(text);
    if (!(character(d.code_point).flags & kPythonSpace)) break;
    text.remove_prefix(d.bytes);
  }
  while (!text.empty()) {
    size_t start = text.size() - 1;  // of the last code point: at most three continuation bytes
    while (start > 0 && text.size() - start < 4 && (text[start] & 0xC0) == 0x80) --start;
    Decoded d = decode_utf8(text.substr(start));
    if (!d.valid || start + d.bytes != text.size()) break;
    if (!(character(d.code_point).flags & kPythonSpace)) break;
    text.remove_suffix(d.bytes);
  }
  return text;
}

}  // namespace bertrain
