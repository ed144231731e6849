// The generated tables of Unicode 14.0 (see tools/generate_unicode_tables.py); unicode.h is the way
// to ask them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bertrain {

struct CharacterInfo {
  uint16_t flags;           // of unicode.h
  uint8_t combining_class;  // Canonical_Combining_Class
  int32_t lower_delta;      // add to get the lower-case code point
};

struct Decomposition {
  char32_t code_point;
  uint16_t start, length;  // in kDecompositionPool
};

constexpr size_t kCharacterBlock = 128;
extern const char kUnicodeVersion[];
extern const CharacterInfo kCharacterInfos[];
extern const uint16_t kCharacterBlocks[];      // code point / 128 → block
extern const uint16_t kCharacterIndex[];       // block * 128 + code point % 128 → kCharacterInfos
extern const Decomposition kDecompositions[];  // sorted by code point
extern const size_t kDecompositionCount;
extern const char32_t kDecompositionPool[];

}  // namespace bertrain
