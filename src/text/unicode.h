// What the tokenizer asks of Unicode 14.0: UTF-8 in and out, and the properties of a code point.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "text/unicode_tables.h"

namespace bertrain {

// The bits of CharacterInfo::flags.
constexpr uint16_t kDropped =
    1;  // NUL, U+FFFD, categories Cc and Cf but \t \n \r: the reference deletes it
constexpr uint16_t kBlank = 2;            // separates words (Zs, \t \n \r, U+2028, U+2029)
constexpr uint16_t kPunctuation = 4;      // ASCII symbols and categories P*: a word of its own
constexpr uint16_t kIdeograph = 8;        // CJK ideographs: a word of its own
constexpr uint16_t kNonspacingMark = 16;  // category Mn: what strip_accents removes
constexpr uint16_t kCased = 32;  // the two properties that decide how a capital sigma is lowered
constexpr uint16_t kCaseIgnorable = 64;
constexpr uint16_t kDecomposes = 128;   // has a canonical decomposition
constexpr uint16_t kPythonSpace = 256;  // str.isspace(), what Python's strip() removes
constexpr uint16_t kLetter = 512;       // categories L* and N*, by which GPT-2 cuts text into words
constexpr uint16_t kNumber = 1024;

const CharacterInfo& character(char32_t code_point);  // of any value up to 0x10FFFF

// Appends the full canonical decomposition of one code point (itself, if there is none).
void append_decomposed(char32_t code_point, std::u32string& out);

struct Decoded {
  char32_t code_point;  // U+FFFD where the bytes are not UTF-8
  uint32_t bytes;       // taken; for invalid bytes the longest prefix of a character, as Python's
                        // decoder takes
  bool valid;
};
Decoded decode_utf8(std::string_view text);  // the first code point of a text that is not empty
void append_utf8(char32_t code_point, std::string& out);
uint64_t count_code_points(std::string_view text);

// Offset of the first byte that is not UTF-8 (surrogates and overlong forms are not); nullopt: all
// is well.
std::optional<size_t> find_invalid_utf8(std::string_view text);

// --invalid_utf8: refuse with the place, put U+FFFD, or leave the bytes out.
enum class InvalidUtf8 { error, replace, ignore };
InvalidUtf8 parse_invalid_utf8(std::string_view name);  // usage error that lists the names

// Throws Error "file:line: invalid UTF-8 at byte 5": where nothing but valid text can be taken.
void require_utf8(std::string_view text, std::string_view place);

// Makes `text` valid as told; returns whether anything had to change. `place` is "file:line" in the
// error "file:line: invalid UTF-8 at byte 5" (bytes of the text counted from 0).
bool repair_utf8(std::string& text, InvalidUtf8 how, std::string_view place);

// Without the blanks that Python's str.strip() removes from both ends.
std::string_view strip(std::string_view text);

}  // namespace bertrain
