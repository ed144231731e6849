// Tests of the tokenizer: the reference's own output, its rules one by one, offsets, and the fast
// way against the exact.
#include "text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "storage/storage.h"
#include "text/unicode.h"

namespace bertrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string data_file(std::string_view name) {
  return std::string(BERTRAIN_TEST_DATA "/text/") + std::string(name);
}

Tokenizer reference_tokenizer(bool lower) {
  return Tokenizer(Vocabulary::read(data_file(lower ? "vocab-uncased.txt" : "vocab-cased.txt")),
                   {.do_lower_case = lower, .strip_accents = {}});
}

std::vector<std::string> word_texts(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::string> texts;
  for (const WordSpan& w : tokenizer.words(text)) texts.push_back(w.text);
  return texts;
}

std::vector<std::string> piece_texts(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::string> texts;
  for (const Piece& p : tokenizer.pieces(text)) texts.push_back(p.text);
  return texts;
}

// The words of a text; accents are stripped as do_lower_case says unless told.
std::vector<std::string> words(std::string_view text, bool lower, std::optional<bool> strip = {}) {
  return word_texts(
      Tokenizer(Vocabulary({"[UNK]"}), {.do_lower_case = lower, .strip_accents = strip}), text);
}

TEST(Tokenizer, SpecialTokensInATextAreTextUnlessAskedFor) {
  std::vector<std::string> pieces = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "i",
                                     "you",   "[",     "]",     "mask",  "sep"};
  std::string_view text = "I[MASK] é you\u3000[SEP][SEP] [sep] [MASK";
  Tokenizer literal((Vocabulary(pieces)));
  EXPECT_THAT(piece_texts(literal, "I [MASK] you [SEP]"),
              ElementsAre("i", "[", "mask", "]", "you", "[", "sep", "]"));
  Tokenizer special(Vocabulary(pieces), {.strip_accents = {}, .special_tokens_in_text = true});
  EXPECT_THAT(piece_texts(special, text), ElementsAre("i", "[MASK]", "[UNK]", "you", "[SEP]",
                                                      "[SEP]", "[", "sep", "]", "[", "mask"));
  EXPECT_THAT(special.ids(text), ElementsAre(5, 4, 1, 6, 3, 3, 7, 10, 8, 7, 9));
  EXPECT_THAT(word_texts(special, text), ElementsAre("i", "[MASK]", "e", "you", "[SEP]", "[SEP]",
                                                     "[", "sep", "]", "[", "mask"));
  std::vector<Piece> found = special.pieces(text);
  EXPECT_EQ(found[4].begin, 14u);  // in characters, then in bytes: é has two, the blank three
  EXPECT_EQ(found[4].end, 19u);
  EXPECT_EQ(found[4].byte_begin, 17u);
  EXPECT_EQ(found[4].byte_end, 22u);
  // What the vocabulary lacks is text.
  Tokenizer without(Vocabulary({"[UNK]", "[", "]", "mask"}),
                    {.strip_accents = {}, .special_tokens_in_text = true});
  EXPECT_THAT(piece_texts(without, "[MASK]"), ElementsAre("[", "mask", "]"));
}

TEST(Tokenizer, EqualsTheReference) {
  Tokenizer uncased = reference_tokenizer(true), cased = reference_tokenizer(false);
  auto lines = read_lines(data_file("tokenization.jsonl"));
  std::string line;
  int count = 0;
  while (lines->next(line)) {
    Json want = Json::parse(line);
    const Tokenizer& tokenizer = want["do_lower_case"] ? uncased : cased;
    std::string text = want["text"];
    EXPECT_EQ(word_texts(tokenizer, text), want["basic"].get<std::vector<std::string>>()) << line;
    EXPECT_EQ(piece_texts(tokenizer, text), want["pieces"].get<std::vector<std::string>>()) << line;
    EXPECT_EQ(tokenizer.ids(text), want["ids"].get<std::vector<int32_t>>()) << line;
    ++count;
  }
  EXPECT_EQ(count, 72);
}

TEST(Tokenizer, DeletesFormatCharacters) {
  for (bool lower : {true, false}) {
    EXPECT_THAT(words("co\u00adoperate", lower), ElementsAre("cooperate"));
    EXPECT_THAT(words("a\ufffdb", lower), ElementsAre("ab"));
    EXPECT_THAT(words(std::string_view("a\0b", 3), lower), ElementsAre("ab"));
    EXPECT_THAT(words("\ufeff\u200b\x01", lower), IsEmpty());
  }
}

TEST(Tokenizer, SplitsAtTheReferencesBlanks) {
  for (const char* blank :
       {" ", "\t", "\n", "\r", "\u00a0", "\u3000", "\u2028", "\u2029", "\u202f", "\u1680"}) {
    EXPECT_THAT(words("a" + std::string(blank) + "b", true), ElementsAre("a", "b"));
  }
  for (const char* joined : {"\u200b", "\u0085", "\u000b", "\ufeff", "\x1c"}) {
    EXPECT_THAT(words("a" + std::string(joined) + "b", true), ElementsAre("ab"));
  }
  EXPECT_THAT(words("note\nbook\tone\rtwo", true), ElementsAre("note", "book", "one", "two"));
}

TEST(Tokenizer, SymbolsStandAlone) {
  EXPECT_EQ(words("a$b+c^d`e|f~g<h>i=j", true).size(), 19u);
  EXPECT_THAT(words("don't—ok", true), ElementsAre("don", "'", "t", "—", "ok"));
  EXPECT_THAT(words("力a加", true), ElementsAre("力", "a", "加"));
  EXPECT_THAT(words("I [MASK] you [SEP]", true),
              ElementsAre("i", "[", "mask", "]", "you", "[", "sep", "]"));
}

TEST(Tokenizer, AccentsInThreeSettings) {
  EXPECT_THAT(words("Naïve Café ÖÄÜ?", true), ElementsAre("naive", "cafe", "oau", "?"));
  EXPECT_THAT(words("Naïve Café ÖÄÜ?", false), ElementsAre("Naïve", "Café", "ÖÄÜ", "?"));
  EXPECT_THAT(words("Naïve Café ÖÄÜ?", true, false), ElementsAre("naïve", "café", "öäü", "?"));
  EXPECT_THAT(words("Naïve", false, true), ElementsAre("Naive"));
}

TEST(Tokenizer, OtherScripts) {
  EXPECT_THAT(words("अपने में", false), ElementsAre("अपने", "में"));
  EXPECT_THAT(words("अपने में", true), ElementsAre("अपन", "म"));
  EXPECT_THAT(words("한국어", false), ElementsAre("한국어"));
  EXPECT_EQ(count_code_points(words("한국어", true)[0]), 8u);
  EXPECT_THAT(words("バスです", true), ElementsAre("ハスてす"));
  EXPECT_THAT(words("バスです", false), ElementsAre("バスです"));
}

TEST(Tokenizer, WarnsOnceWhenLettersAreLost) {
  std::string said;
  LogSink sink([&](std::string_view line) { said += std::string(line) + "\n"; });
  Tokenizer tokenizer(Vocabulary({"[UNK]"}));
  tokenizer.ids("Café \u05e9\u05b8\u05dc ❤\ufe0f");
  EXPECT_EQ(said, "");
  tokenizer.ids("अपने में");
  EXPECT_THAT(said, HasSubstr("'अपने' -> 'अपन'"));
  said.clear();
  tokenizer.pieces("में");
  EXPECT_EQ(said, "");
}

TEST(Tokenizer, LowersAsPython) {
  EXPECT_THAT(words("ÀÉîõü Straße İstanbul", true), ElementsAre("aeiou", "straße", "istanbul"));
  EXPECT_THAT(words("İ", true, false), ElementsAre("i\u0307"));
  EXPECT_THAT(words("ΟΔΥΣΣΕΥΣ ΑΣ. ΑΣ.Α Σ", true),
              ElementsAre("οδυσσευς", "ας", ".", "ασ", ".", "α", "σ"));
  // The letter before the sigma is ASCII and cut off before it; the sigma still ends a word.
  EXPECT_THAT(words("a.Σ", true), ElementsAre("a", ".", "ς"));
  EXPECT_THAT(words("a+Σ", true), ElementsAre("a", "+", "σ"));
}

TEST(Tokenizer, OffsetsAreOfTheOriginal) {
  Vocabulary vocabulary({"[UNK]", "cooperate", "cafe", "caf", "##e", "x", "!"});
  Tokenizer tokenizer(std::move(vocabulary));
  std::vector<Piece> p = tokenizer.pieces("co\u00adoperate 💩💩 cafe\u0301! é x");
  ASSERT_EQ(p.size(), 6u);
  auto place = [](const Piece& q) {
    return std::vector<uint64_t>{q.begin, q.end, q.byte_begin, q.byte_end};
  };
  EXPECT_THAT(place(p[0]), ElementsAre(0, 10, 0, 11));
  EXPECT_THAT(place(p[1]), ElementsAre(11, 13, 12, 20));
  EXPECT_EQ(p[1].text, "[UNK]");
  EXPECT_THAT(place(p[2]), ElementsAre(14, 19, 21, 27));  // the accent belongs to the word
  EXPECT_THAT(place(p[3]), ElementsAre(19, 20, 27, 28));
  EXPECT_THAT(place(p[4]), ElementsAre(21, 22, 29, 31));
  EXPECT_THAT(place(p[5]), ElementsAre(23, 24, 32, 33));
}

TEST(Tokenizer, PiecesOfHalfASyllable) {
  Tokenizer tokenizer(Vocabulary({"[UNK]", "\u1112", "##\u1161\u11ab"}));
  std::vector<Piece> p = tokenizer.pieces("한");
  ASSERT_EQ(p.size(), 2u);
  EXPECT_EQ(p[0].end, 1u);
  EXPECT_EQ(p[1].begin, 0u);
  EXPECT_EQ(p[1].byte_end, 3u);
}

TEST(Tokenizer, LongWordsCountCodePoints) {
  Tokenizer tokenizer(Vocabulary({"[UNK]", "a", "##a", "e", "##e"}));
  EXPECT_EQ(tokenizer.ids(std::string(200, 'a')).size(), 200u);
  EXPECT_THAT(tokenizer.ids(std::string(201, 'a')), ElementsAre(0));
  std::string accents;
  for (int i = 0; i < 200; ++i) accents += "é";
  EXPECT_EQ(tokenizer.ids(accents).size(), 200u);
  EXPECT_THAT(tokenizer.ids(accents + "e"), ElementsAre(0));
  ASSERT_EQ(tokenizer.pieces("b" + std::string(201, 'a')).size(), 1u);
  EXPECT_EQ(tokenizer.pieces(" b" + std::string(201, 'a'))[0].end, 203u);
}

TEST(Tokenizer, AMissingPartLosesTheWord) {
  Tokenizer tokenizer(Vocabulary({"[UNK]", "un", "##want", "##ed", "runn", "##ing"}));
  EXPECT_THAT(piece_texts(tokenizer, "unwantedX running"), ElementsAre("[UNK]", "runn", "##ing"));
  EXPECT_THAT(piece_texts(tokenizer, "unwanted"), ElementsAre("un", "##want", "##ed"));
}

TEST(Tokenizer, OptionsOutOfRange) {
  EXPECT_THROW(Tokenizer(Vocabulary({"[UNK]"}), {.strip_accents = {}, .max_chars_per_word = 0}),
               Error);
  EXPECT_THROW(Tokenizer(Vocabulary({"a"})), Error);
}

// Texts of characters that have bitten tokenizers, valid or not.
std::string random_text(std::mt19937& rng) {
  static const std::vector<std::string> parts = {"a",
                                                 "B",
                                                 "the",
                                                 "ing",
                                                 " ",
                                                 "\t",
                                                 ".",
                                                 ",",
                                                 "'",
                                                 "Σ",
                                                 "ς",
                                                 "İ",
                                                 "é",
                                                 "e\u0301",
                                                 "\u0338",
                                                 "\u0345",
                                                 "\u200b",
                                                 "\u00ad",
                                                 "\u00a0",
                                                 "中",
                                                 "가",
                                                 "\u2028",
                                                 "ß",
                                                 "\u1fef",
                                                 "\u037e",
                                                 "\ufb01",
                                                 "\u0958",
                                                 "💩",
                                                 "\xff",
                                                 "\xe4\xb8",
                                                 "\xed\xa0\x80",
                                                 "\u302e",
                                                 "\u0300",
                                                 "\x01",
                                                 "－",
                                                 "。",
                                                 "aaaaaaaaaaaaaaaaaaaaaaaaaa",
                                                 "\U0002f800",
                                                 "\u0ddd",
                                                 "\U0001d15e",
                                                 "9"};
  std::string text;
  for (size_t n = rng() % 12; n > 0; --n) text += parts[rng() % parts.size()];
  return text;
}

TEST(Tokenizer, TheFastWayEqualsTheExact) {
  for (bool lower : {true, false}) {
    Tokenizer tokenizer = reference_tokenizer(lower);
    std::mt19937 rng(7);
    for (int i = 0; i < 20000; ++i) {
      std::string text = random_text(rng);
      std::vector<int32_t> exact;
      uint64_t last = 0;
      for (const Piece& p : tokenizer.pieces(text)) {
        exact.push_back(p.id);
        EXPECT_LE(p.byte_begin, p.byte_end);
        EXPECT_LE(p.byte_end, text.size());
        last = p.byte_end;
      }
      EXPECT_LE(last, text.size());
      ASSERT_EQ(tokenizer.ids(text), exact) << text;
    }
  }
}

TEST(Tokenizer, ThreadsAndTokenizersDoNotMix) {
  Tokenizer uncased = reference_tokenizer(true), cased = reference_tokenizer(false);
  auto work = [&] {
    std::mt19937 rng(11);
    for (int i = 0; i < 3000; ++i) {
      std::string text = random_text(rng);
      for (const Tokenizer* t : {&uncased, &cased}) {
        std::vector<int32_t> exact;
        t->each_piece(text, [&](const PieceSpan& p) { exact.push_back(p.id); });
        ASSERT_EQ(t->ids(text), exact);
      }
    }
  };
  std::thread other(work);
  work();
  other.join();
}

}  // namespace
}  // namespace bertrain
