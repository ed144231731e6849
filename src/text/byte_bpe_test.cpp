// Tests of byte-level BPE: the real library's ids and places, the rules one by one, texts made to be
// slow, and files that are damaged.
#include "text/byte_bpe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/json.h"
#include "storage/storage.h"
#include "text/byte_bpe_files.h"
#include "text/unicode.h"

namespace bertrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kGolden = BERTRAIN_TEST_DATA "/byte_bpe";

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> all;
  while (!text.empty()) {
    size_t bytes = byte_bpe_word_bytes(text);
    all.emplace_back(text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
  return all;
}

// The pieces of all bytes, the special tokens, and some of words.
ByteBpeModel small_model() {
  std::vector<std::string> tokens = {"<s>", "<pad>", "</s>", "<unk>", "<mask>"};
  for (int byte = 0; byte < 256; ++byte) {
    append_utf8(byte_character(static_cast<uint8_t>(byte)), tokens.emplace_back());
  }
  for (const char* token : {"ab", "bc", "abc", "Ġab", "ĠĠ"}) tokens.emplace_back(token);
  Vocabulary vocabulary(tokens, "small");
  ByteBpeRules rules;
  auto merge = [&](const char* left, const char* right) {
    rules.merges.push_back(
        {vocabulary.id(left), vocabulary.id(right), vocabulary.id(std::string(left) + right)});
  };
  merge("b", "c"), merge("a", "b"), merge("a", "bc"), merge("Ġ", "ab"), merge("Ġ", "Ġ");
  for (const char* token : {"<s>", "<pad>", "</s>", "<unk>", "<mask>"}) {
    AddedToken added;
    added.id = vocabulary.id(token), added.text = token, added.special = true;
    added.strip_left = added.text == "<mask>";
    rules.added.push_back(added);
  }
  return {std::move(vocabulary), std::move(rules)};
}

std::vector<std::string> pieces(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::string> texts;
  std::vector<int32_t> ids;
  for (const Piece& p : tokenizer.pieces(text)) {
    texts.push_back(p.text);
    ids.push_back(p.id);
  }
  EXPECT_EQ(tokenizer.ids(text), ids) << text;
  return texts;
}

// One file of the golden tokenizer changed.
void write_golden(const std::string& to, const std::string& from, const std::string& into) {
  for (const char* name : {"vocab.json", "merges.txt"}) {
    std::string text = read_text(join_path(kGolden, name));
    size_t at = text.find(from);
    if (at != text.npos) text.replace(at, from.size(), into);
    write_text(join_path(to, name), text);
  }
}

std::string reading_fails(const std::string& folder) {
  try {
    Tokenizer(read_byte_bpe(folder), {});
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was wrong";
}

TEST(ByteBpe, EqualsTheLibrary) {
  Tokenizer tokenizer(read_byte_bpe(kGolden),
                      {.strip_accents = {}, .special_tokens_in_text = true});
  auto lines = read_text(kGolden + "/expected.jsonl");
  int count = 0;
  for (size_t from = 0, end; (end = lines.find('\n', from)) != lines.npos; from = end + 1) {
    Json line = Json::parse(lines.substr(from, end - from));
    std::string text = line["text"];
    Json ids = Json::array(), places = Json::array();
    for (int32_t id : tokenizer.ids(text)) ids.push_back(id);
    EXPECT_EQ(ids, line["ids"]) << line["text"];
    ids.clear();
    tokenizer.each_piece(text, [&](const PieceSpan& p) {
      ids.push_back(p.id);
      places.push_back({p.begin, p.end});
      bool inside = p.byte_begin < text.size() && (text[p.byte_begin] & 0xC0) == 0x80;
      EXPECT_EQ(count_code_points(text.substr(0, p.byte_begin)), p.begin + inside) << line["text"];
    });
    EXPECT_EQ(ids, line["ids"]) << line["text"];
    EXPECT_EQ(places, line["offsets"]) << line["text"];
    ++count;
  }
  EXPECT_GT(count, 100);
}

TEST(ByteBpe, CutsWordsByTheExpression) {
  EXPECT_THAT(words("I'll don't"), ElementsAre("I", "'ll", " don", "'t"));
  EXPECT_THAT(words("'LL !'s"), ElementsAre("'", "LL", " !'", "s"));
  EXPECT_THAT(words("ab12½ c"), ElementsAre("ab", "12½", " c"));
  EXPECT_THAT(words("a  b"), ElementsAre("a", " ", " b"));
  EXPECT_THAT(words("a \n\n b \t"), ElementsAre("a", " \n\n", " b", " \t"));
  EXPECT_THAT(words("a\nb\u3000c"), ElementsAre("a", "\n", "b", "\u3000", "c"));
  EXPECT_THAT(words("e\u0301\x1c中"), ElementsAre("e", "\u0301\x1c", "中"));
  EXPECT_THAT(words("\xff\xe4\xb8"), ElementsAre("\xff\xe4\xb8"));
}

TEST(ByteBpe, WritesBytesAsCharacters) {
  EXPECT_EQ(byte_character(' '), U'Ġ');
  EXPECT_EQ(byte_character('\n'), U'Ċ');
  EXPECT_EQ(byte_character('!'), U'!');
  EXPECT_EQ(byte_character(0xAD), U'Ń');
  EXPECT_EQ(byte_character(0xFF), U'ÿ');
}

TEST(ByteBpe, MergesByRankAndFromTheLeft) {
  Tokenizer tokenizer(small_model(), {});
  EXPECT_THAT(pieces(tokenizer, "abc ab abcab"), ElementsAre("abc", "Ġab", "Ġ", "abc", "ab"));
  EXPECT_THAT(pieces(tokenizer, "     "), ElementsAre("ĠĠ", "ĠĠ", "Ġ"));
  EXPECT_THAT(pieces(tokenizer, "é"), ElementsAre("Ã", "©"));
}

TEST(ByteBpe, SpecialTokensInATextAreTextUnlessAskedFor) {
  Tokenizer literal(small_model(), {});
  EXPECT_THAT(pieces(literal, "<s>"), ElementsAre("<", "s", ">"));
  Tokenizer special(small_model(), {.strip_accents = {}, .special_tokens_in_text = true});
  EXPECT_THAT(pieces(special, "ab \n<mask> ab<mask><s> "),
              ElementsAre("ab", "<mask>", "Ġab", "<mask>", "<s>", "Ġ"));
  EXPECT_THAT(pieces(special, "<mask"), ElementsAre("<", "m", "a", "s", "k"));
}

TEST(ByteBpe, PutsABlankInFrontWhereTheRulesSaySo) {
  ByteBpeModel model = small_model();
  model.rules.add_prefix_space = true;
  Tokenizer tokenizer(std::move(model), {.strip_accents = {}, .special_tokens_in_text = true});
  EXPECT_THAT(pieces(tokenizer, "ab</s>ab"), ElementsAre("Ġab", "</s>", "Ġab"));
  EXPECT_THAT(pieces(tokenizer, " ab"), ElementsAre("Ġab"));
  EXPECT_THAT(pieces(tokenizer, ""), ElementsAre());
  Piece last = tokenizer.pieces("ab</s>ab").back();
  EXPECT_EQ(last.begin, 6u);
  EXPECT_EQ(last.end, 8u);
}

TEST(ByteBpe, TakesLongWordsInTime) {
  Tokenizer tokenizer(small_model(), {});
  std::string text(1 << 20, 'a');
  for (size_t i = 1; i < text.size(); i += 2) text[i] = 'b';
  EXPECT_EQ(tokenizer.ids(text).size(), text.size() / 2);
  EXPECT_EQ(tokenizer.ids(std::string(1 << 20, '<')).size(), size_t{1} << 20);
  EXPECT_EQ(tokenizer.ids(std::string(1 << 20, ' ')).size(), size_t{1} << 19);
}

TEST(ByteBpe, KnowsItsSpecialTokens) {
  Tokenizer tokenizer(small_model(), {});
  EXPECT_EQ(tokenizer.special().classify, "<s>");
  EXPECT_EQ(tokenizer.special().separators_between, 2);
  EXPECT_FALSE(tokenizer.strips_accents());
}

TEST(ByteBpeFiles, ThereAndBack) {
  Tokenizer first(read_byte_bpe(kGolden), {.strip_accents = {}, .special_tokens_in_text = true});
  for (const auto& [name, content] : byte_bpe_files(first, 512)) {
    write_text(join_path("mem://bpe-one", name), content);
    if (name != "tokenizer.json") write_text(join_path("mem://bpe-two", name), content);
  }
  for (const char* folder : {"mem://bpe-one", "mem://bpe-two"}) {
    Tokenizer again(read_byte_bpe(folder), {.strip_accents = {}, .special_tokens_in_text = true});
    EXPECT_EQ(again.vocabulary().tokens(), first.vocabulary().tokens()) << folder;
    EXPECT_EQ(byte_bpe_files(again, 512), byte_bpe_files(first, 512)) << folder;
  }
  EXPECT_EQ(read_text("mem://bpe-one/merges.txt"), read_text(kGolden + "/merges.txt"));
}

// Older files write a merge as one text.
TEST(ByteBpeFiles, KnowMergesOfOneText) {
  Tokenizer first(read_byte_bpe(kGolden), {});
  auto files = byte_bpe_files(first, 512);
  Json tokenizer = Json::parse(files[0].second);
  for (Json& merge : tokenizer["model"]["merges"]) {
    merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
  }
  write_text("mem://bpe-old/tokenizer.json", tokenizer.dump());
  Tokenizer again(read_byte_bpe("mem://bpe-old"), {});
  EXPECT_EQ(byte_bpe_files(again, 512), files);
}

TEST(ByteBpeFiles, SayWhatIsWrong) {
  EXPECT_THAT(reading_fails("mem://bpe-none"), HasSubstr("bpe-none/vocab.json: not there"));
  write_golden("mem://bpe", "#version", "#version");
  EXPECT_THAT(reading_fails("mem://bpe"), HasSubstr("nothing was wrong"));
  write_golden("mem://bpe", "Ġ t\n", "Ġ t x\n");
  EXPECT_THAT(reading_fails("mem://bpe"), HasSubstr("x\"; two pieces with a blank between"));
  write_golden("mem://bpe", "Ġ t\n", "Ġ qq\n");
  EXPECT_THAT(reading_fails("mem://bpe"), HasSubstr("needs the piece \"qq\""));
  write_golden("mem://bpe", "\"<mask>\":4", "\"<mask>\":700");
  EXPECT_THAT(reading_fails("mem://bpe"), HasSubstr("none has the id 4"));
  write_golden("mem://bpe", "\"<mask>\":4", "\"<mask>\":-1");
  EXPECT_THAT(reading_fails("mem://bpe"), HasSubstr("\"<mask>\" is -1; an id from 0"));
  write_golden("mem://bpe", "\"<mask>\":4", "\"<mask>\":4e9");
  EXPECT_THAT(reading_fails("mem://bpe"), HasSubstr("\"<mask>\" is 4000000000.0; an id"));
  write_golden("mem://bpe", "\"<mask>\":4", "\"<musk>\":4");
  EXPECT_THAT(reading_fails("mem://bpe"), HasSubstr("<mask>"));
  write_golden("mem://bpe", "\"<mask>\":4", "\"<mask>\"");
  EXPECT_THAT(reading_fails("mem://bpe"), HasSubstr("vocab.json:1:"));
  write_golden("mem://bpe", "\"!\":", "\"!!!!\":");
  EXPECT_THAT(reading_fails("mem://bpe"), HasSubstr("'!', the piece of byte 33, is missing"));
}

TEST(ByteBpeFiles, RefuseOtherTokenizers) {
  Tokenizer first(read_byte_bpe(kGolden), {});
  std::string whole = byte_bpe_files(first, 512)[0].second;
  auto with = [&](const std::string& from, const std::string& into) {
    std::string text = whole;
    size_t at = text.find(from);
    EXPECT_NE(at, text.npos) << from;
    write_text("mem://bpe-other/tokenizer.json", text.replace(at, from.size(), into));
    return reading_fails("mem://bpe-other");
  };
  EXPECT_THAT(with("\"version\"", "\"version\""), HasSubstr("nothing was wrong"));
  EXPECT_THAT(with("\"BPE\"", "\"Unigram\""), HasSubstr("model.type is \"Unigram\""));
  EXPECT_THAT(with("\"normalizer\": null", "\"normalizer\": {\"type\": \"NFC\"}"),
              HasSubstr("normalizer"));
  EXPECT_THAT(with("\"ByteLevel\"", "\"Whitespace\""), HasSubstr("pre_tokenizer.type"));
  EXPECT_THAT(with("\"dropout\": null", "\"dropout\": 0.1"), HasSubstr("model.dropout is 0.1"));
  EXPECT_THAT(with("\"single_word\": false", "\"single_word\": true"), HasSubstr("single_word"));
  EXPECT_THAT(with("\"merges\": [", "\"merges\": [7,"), HasSubstr("model.merges.0 is 7"));
  EXPECT_THAT(with("\"model\"", "\"models\""), HasSubstr("the key model expected"));
  EXPECT_THAT(with("\"vocab\"", "\"vocabs\""), HasSubstr("model.vocab: an object of pieces"));
}

}  // namespace
}  // namespace bertrain
