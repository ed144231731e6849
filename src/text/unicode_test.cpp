// Tests of UTF-8 decoding against the standard's table, repair as Python does it, and a few
// properties.
#include "text/unicode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace bertrain {
namespace {

TEST(Unicode, VersionIsTheReferences) { EXPECT_STREQ(kUnicodeVersion, "14.0.0"); }

TEST(Unicode, EveryCodePointGoesAround) {
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string bytes;
    append_utf8(c, bytes);
    Decoded d = decode_utf8(bytes);
    ASSERT_TRUE(d.valid && d.code_point == c && d.bytes == bytes.size())
        << static_cast<uint32_t>(c);
  }
}

TEST(Unicode, InvalidBytesAreFound) {
  EXPECT_EQ(find_invalid_utf8("1\tcaf\xe9"), 5u);
  EXPECT_EQ(find_invalid_utf8("plain text, then é and 中 and 💩"), std::nullopt);
  for (std::string_view bad :
       {"\x80", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80", "\xe4\xb8", "\xff"}) {
    EXPECT_EQ(find_invalid_utf8(bad), 0u) << bad.size();
    EXPECT_EQ(find_invalid_utf8("aaaaaaaaa" + std::string(bad) + "b"), 9u);
  }
}

TEST(Unicode, RepairIsPythons) {
  auto repaired = [](std::string text, InvalidUtf8 how) {
    EXPECT_TRUE(repair_utf8(text, how, "x:1"));
    return text;
  };
  EXPECT_EQ(repaired("a\xe4\xb8"
                     "b\xff",
                     InvalidUtf8::replace),
            "a\ufffd"
            "b\ufffd");
  EXPECT_EQ(repaired("\xed\xa0\x80", InvalidUtf8::replace), "\ufffd\ufffd\ufffd");
  EXPECT_EQ(repaired("\xf0\x9f\x92"
                     "é",
                     InvalidUtf8::replace),
            "\ufffdé");
  EXPECT_EQ(repaired("a\xe4\xb8"
                     "b\xff",
                     InvalidUtf8::ignore),
            "ab");
  std::string fine = "é";
  EXPECT_FALSE(repair_utf8(fine, InvalidUtf8::error, "x:1"));
  try {
    std::string bad = "1\tcaf\xe9";
    repair_utf8(bad, InvalidUtf8::error, "file:1");
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("file:1: invalid UTF-8 at byte 5"));
  }
  EXPECT_EQ(parse_invalid_utf8("ignore"), InvalidUtf8::ignore);
  EXPECT_THROW(parse_invalid_utf8("no"), Error);
}

TEST(Unicode, StripsPythonsBlanks) {
  EXPECT_EQ(strip(" \x1c\u0085\u00a0\u3000 a b\u2028\n\r"), "a b");
  EXPECT_EQ(strip("\u200b"), "\u200b");
  EXPECT_EQ(strip(" \u3000\n"), "");
  EXPECT_EQ(strip("a\xa0"), "a\xa0");
}

TEST(Unicode, Decomposes) {
  std::u32string out;
  for (char32_t c : U"é한\u1e69a") append_decomposed(c, out);
  EXPECT_EQ(out, std::u32string(U"e\u0301\u1112\u1161\u11abs\u0323\u0307a") + U'\0');
}

TEST(Unicode, CountsCodePoints) {
  EXPECT_EQ(count_code_points("aé中💩"), 4u);
  EXPECT_EQ(count_code_points("\xff\xe4\xb8"), 2u);
}

}  // namespace
}  // namespace bertrain
