// Tests of reading vocabularies: the reference's numbering, and every oddity named.
#include "text/vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "base/error_message.h"
#include "base/log.h"
#include "storage/storage.h"
#include "text/tokenizer.h"

namespace bertrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kToy = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\nd\nwho\n?\n";

// Runs `action` and returns the warnings it gave.
std::string warnings(const std::function<void()>& action) {
  std::string said;
  LogSink sink([&](std::string_view line) { said += std::string(line) + "\n"; });
  action();
  return said;
}

TEST(Vocabulary, BlankLinesTakeAnId) {
  std::string said = warnings([] {
    Vocabulary v = Vocabulary::parse("[PAD]\n[UNK]\n\nfoo\nbar\n", "v.txt");
    EXPECT_EQ(v.id("foo"), 3);
    EXPECT_EQ(v.id("bar"), 4);
    EXPECT_EQ(v.id(""), 2);
  });
  EXPECT_THAT(said, HasSubstr("v.txt:3: blank line"));
}

TEST(Vocabulary, RepeatedLinesCountLast) {
  std::string said = warnings([] {
    Vocabulary v = Vocabulary::parse("[UNK]\na\nb\na\n", "v.txt");
    EXPECT_EQ(v.id("a"), 3);
    EXPECT_EQ(v.token(1), "a");
    EXPECT_EQ(v.size(), 4u);
    EXPECT_THAT(v.distinct(), ElementsAre("[UNK]", "a", "b"));
  });
  EXPECT_THAT(said, HasSubstr("v.txt:4: 'a' stands in the vocabulary twice"));
}

TEST(Vocabulary, ByteOrderMarkAndCrLf) {
  EXPECT_EQ(Vocabulary::parse("\ufeff[PAD]\n[UNK]\n", "v").id("[PAD]"), 0);
  std::string crlf(kToy);
  for (size_t at = 0; (at = crlf.find('\n', at)) != std::string::npos; at += 2)
    crlf.insert(at, "\r");
  crlf.resize(crlf.size() - 2);  // the last line without its newline
  EXPECT_EQ(Vocabulary::parse(crlf, "v").tokens(), Vocabulary::parse(kToy, "v").tokens());
}

TEST(Vocabulary, MissingSpecialsAreNamed) {
  for (std::string_view special : {"[MASK]", "[UNK]", "[CLS]", "[SEP]"}) {
    std::string text(kToy);
    text.erase(text.find(special), special.size() + 1);
    std::string uri = "mem://vocabulary-" + std::string(special);
    write_text(uri, text);
    EXPECT_THAT(message_of([&] { Vocabulary::read(uri); }), HasSubstr(special));
    EXPECT_NO_THROW(Vocabulary::read(uri, {}));
  }
}

TEST(Vocabulary, OfATokenizerFile) {
  auto read = [](const std::string& model, const std::string& added = "[]") {
    write_text("mem://tokenizer.json",
               fmt::format(R"({{"model": {}, "added_tokens": {}}})", model, added));
    return Vocabulary::read_tokenizer("mem://tokenizer.json", {"[UNK]"});
  };
  auto told = [&](const std::string& model) { return message_of([&] { read(model); }); };
  const std::string vocab = R"({"type": "WordPiece", "vocab": {"[UNK]": 0, "b": 3, "a": 1}})";
  EXPECT_THAT(read(vocab)->tokens(), ElementsAre("[UNK]", "a", "", "b"));
  std::optional<Vocabulary> more;
  EXPECT_THAT(warnings([&] {
                more = read(vocab, R"([{"id": 0, "content": "[UNK]"}, {"id": 4, "content": "c"}])");
              }),
              HasSubstr("'c' was added to its pieces"));
  EXPECT_EQ(more->id("c"), 4);
  EXPECT_FALSE(read(R"({"type": "BPE", "vocab": {}})"));
  EXPECT_FALSE(read("3"));
  EXPECT_THAT(told(R"({"type": "WordPiece", "vocab": {"a": 0}})"), HasSubstr("[UNK] missing"));
  EXPECT_THAT(told(R"({"type": "WordPiece", "vocab": {"[UNK]": 0, "a": 0}})"),
              HasSubstr("'[UNK]' and 'a' both have the id 0"));
  EXPECT_THAT(told(R"({"type": "WordPiece", "vocab": {"[UNK]": 99999999999}})"),
              HasSubstr("the id of '[UNK]' is 99999999999; a number up to 1002 expected"));
  EXPECT_THAT(told(R"({"type": "WordPiece", "vocab": {"[UNK]": -1}})"), HasSubstr("is -1;"));
  EXPECT_THAT(told(R"({"type": "WordPiece", "vocab": []})"), HasSubstr("model.vocab: pieces"));
  EXPECT_THAT(told(R"({"type": "WordPiece", "continuing_subword_prefix": "@@", "vocab": {}})"),
              HasSubstr("continuing_subword_prefix"));
}

TEST(Vocabulary, MustFitTheModel) {
  Vocabulary v = Vocabulary::parse(kToy, "toy.txt");
  v.check_fits(11, "model");
  v.check_fits(12, "model");
  EXPECT_THAT(message_of([&] { v.check_fits(9, "model.ckpt"); }),
              HasSubstr("toy.txt has 11 pieces, the word embeddings of model.ckpt have 9 rows"));
}

TEST(Vocabulary, RefusesWhatIsNone) {
  EXPECT_THAT(message_of([] { Vocabulary::parse("", "v.txt"); }), HasSubstr("v.txt: a vocabulary"));
  EXPECT_THAT(message_of([] { Vocabulary::parse("a\nb\xff\n", "v.txt"); }),
              HasSubstr("v.txt:2: invalid UTF-8 at byte 1"));
  EXPECT_THAT(message_of([] { Vocabulary::parse("a\n", "v.txt").id("b"); }),
              HasSubstr("v.txt: no piece 'b'"));
  EXPECT_EQ(Vocabulary::parse("a\n", "v.txt").find("b"), -1);
}

// Whatever the bytes, reading ends in a vocabulary or an Error, and tokenizing with it never fails.
TEST(Vocabulary, SurvivesAnyBytes) {
  std::mt19937 rng(1);
  for (int i = 0; i < 500; ++i) {
    std::string bytes(kToy);
    for (size_t n = rng() % 12; n > 0; --n) {
      size_t at = rng() % bytes.size();
      static constexpr std::string_view kNasty("\0\n\r#\xEF\xBB\xBF\xE3\x80\x80\xFF[a", 12);
      char byte = kNasty[rng() % kNasty.size()];
      if (rng() % 2) {
        bytes[at] = byte;
      } else {
        bytes.insert(at, 1, byte);
      }
    }
    try {
      Vocabulary v = Vocabulary::parse(bytes, "fuzz");
      v.require({kUnknown});
      size_t size = v.size();
      Tokenizer tokenizer(std::move(v));
      for (int32_t id : tokenizer.ids(bytes)) ASSERT_LT(static_cast<size_t>(id), size);
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace bertrain
