#!/usr/bin/env python3
"""Writes src/text/unicode_tables.cpp from Python 3.11's unicodedata (Unicode 14.0.0), the data of the reference tokenizer.

usage: tools/generate_unicode_tables.py > src/text/unicode_tables.cpp
"""
import sys
import unicodedata

EXPECTED = "14.0.0"
LIMIT = 0x110000
BLOCK = 128

# The reference's own list of CJK blocks; Hangul and kana are not among them.
IDEOGRAPHS = [(0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F),
              (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)]
ASCII_PUNCTUATION = [(33, 47), (58, 64), (91, 96), (123, 126)]

# As in src/text/unicode.h.
(DROPPED, BLANK, PUNCTUATION, IDEOGRAPH, MARK, CASED, IGNORABLE, DECOMPOSES, PYTHON_SPACE, LETTER,
 NUMBER) = (1 << i for i in range(11))


def within(code, ranges):
    return any(a <= code <= b for a, b in ranges)


def is_surrogate(code):
    return 0xD800 <= code <= 0xDFFF


def is_hangul_syllable(code):
    return 0xAC00 <= code < 0xAC00 + 11172


def decomposition(code):
    """The full canonical decomposition, or "" if there is none (Hangul syllables are computed instead)."""
    if is_surrogate(code) or is_hangul_syllable(code):
        return ""
    nfd = unicodedata.normalize("NFD", chr(code))
    return "" if nfd == chr(code) else nfd


def flags_of(code):
    if is_surrogate(code):
        return 0
    c = chr(code)
    category = unicodedata.category(c)
    flags = 0
    if code in (0, 0xFFFD) or (category in ("Cc", "Cf") and c not in "\t\n\r"):
        flags |= DROPPED
    elif category == "Zs" or c.isspace():
        flags |= BLANK
    if within(code, ASCII_PUNCTUATION) or category.startswith("P"):
        flags |= PUNCTUATION
    if within(code, IDEOGRAPHS):
        flags |= IDEOGRAPH
    if category == "Mn":
        flags |= MARK
    # str.lower() looks at these two properties around a capital sigma; they have no other door in Python.
    alone = (c + "\u03a3").lower().endswith("\u03c2")
    after_letter = ("A" + c + "\u03a3").lower().endswith("\u03c2")
    if alone:
        flags |= CASED
    elif after_letter:
        flags |= IGNORABLE
    if decomposition(code) or is_hangul_syllable(code):
        flags |= DECOMPOSES
    if c.isspace():
        flags |= PYTHON_SPACE
    if category.startswith("L"):
        flags |= LETTER
    if category.startswith("N"):
        flags |= NUMBER
    return flags


def lower_delta(code):
    if is_surrogate(code) or code == 0x130:  # U+0130 becomes two code points: handled in unicode.cpp
        return 0
    lower = chr(code).lower()
    assert len(lower) == 1, hex(code)
    return ord(lower) - code


def record_of(code):
    combining = 0 if is_surrogate(code) else unicodedata.combining(chr(code))
    return flags_of(code), combining, lower_delta(code)


def print_numbers(head, numbers):
    print(head + " = {")
    line = "   "
    for number in numbers:
        text = f" {number},"
        if len(line) + len(text) > 100:
            print(line)
            line = "   "
        line += text
    print(line + "\n};\n")


def main():
    if unicodedata.unidata_version != EXPECTED:
        sys.exit(f"Unicode {EXPECTED} (Python 3.11) expected, this is {unicodedata.unidata_version}")
    records, record_index, codes = [], {}, []
    for code in range(LIMIT):
        record = record_of(code)
        if record not in record_index:
            record_index[record] = len(records)
            records.append(record)
        codes.append(record_index[record])
    blocks, block_index, stage = [], {}, []
    for start in range(0, LIMIT, BLOCK):
        block = tuple(codes[start:start + BLOCK])
        if block not in block_index:
            block_index[block] = len(blocks)
            blocks.append(block)
        stage.append(block_index[block])

    print("// The properties of every code point; written by tools/generate_unicode_tables.py, not by hand.")
    print('#include "text/unicode_tables.h"\n')
    print("// clang-format off")
    print("namespace bertrain {\n")
    print(f'const char kUnicodeVersion[] = "{unicodedata.unidata_version}";\n')
    print("const CharacterInfo kCharacterInfos[] = {")
    for flags, combining, delta in records:
        print(f"    {{{flags}, {combining}, {delta}}},")
    print("};\n")
    print_numbers("const uint16_t kCharacterBlocks[]", stage)
    print_numbers("const uint16_t kCharacterIndex[]", [i for block in blocks for i in block])
    starts, pool = [], []
    for code in range(LIMIT):
        parts = decomposition(code)
        if parts:
            starts.append((code, len(pool), len(parts)))
            pool += [ord(c) for c in parts]
    print("const Decomposition kDecompositions[] = {")
    for code, start, length in starts:
        print(f"    {{{code:#x}, {start}, {length}}},")
    print("};")
    print(f"const size_t kDecompositionCount = {len(starts)};\n")
    print_numbers("const char32_t kDecompositionPool[]", [f"{code:#x}" for code in pool])
    print("}  // namespace bertrain")


if __name__ == "__main__":
    main()
