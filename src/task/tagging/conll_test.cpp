// CoNLL columns: what is a word, what ends a sentence, what is wrong, and the way back to the file.
#include "task/tagging/conll.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace bertrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

constexpr const char* kFile = "mem://conll/file.conll";

std::vector<ConllSentence> read(const std::string& text, const ConllColumns& columns = {},
                                std::optional<size_t>* tag_column = nullptr) {
  write_text(kFile, text);
  ConllReader reader(kFile, columns, InvalidUtf8::error);
  std::vector<ConllSentence> all;
  for (ConllSentence s; reader.next(s);) all.push_back(s);
  if (tag_column) *tag_column = reader.tag_column();
  return all;
}

// With every tag as it is, the file comes back; nothing is lost or moved.
void expect_same(const std::string& text, const ConllColumns& columns = {}) {
  std::optional<size_t> tag;
  std::string back;
  for (const ConllSentence& s : read(text, columns, &tag)) {
    back += tagged_lines(s.lines, s.word_lines, tag, s.tags);
  }
  EXPECT_EQ(back, text);
}

void expect_error(const std::string& text, const std::string& message,
                  const ConllColumns& columns = {}) {
  EXPECT_THAT([&] { read(text, columns); }, ThrowsMessage<Error>(HasSubstr(message))) << text;
}

ConllColumns to_predict(int64_t trained) {
  ConllColumns columns;
  columns.tags_optional = true;
  columns.trained = trained;
  return columns;
}

TEST(Conll, ReadsTheWordFirstAndTheTagLast) {
  auto all = read("Ada NNP I-NP B-PER\nsang VBD  I-VP\tO\n\nParis NNP I-NP B-LOC\n");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_THAT(all[0].words, ElementsAre("Ada", "sang"));
  EXPECT_THAT(all[0].tags, ElementsAre("B-PER", "O"));
  EXPECT_THAT(all[1].words, ElementsAre("Paris"));
  EXPECT_EQ(all[1].line_of(0), 4u);
}

TEST(Conll, ReadsOtherColumns) {
  ConllColumns columns{.word = 2, .tag = 3};
  auto all = read("1 Ada B-PER x\n2 sang O x\n", columns);
  EXPECT_THAT(all.at(0).words, ElementsAre("Ada", "sang"));
  EXPECT_THAT(all.at(0).tags, ElementsAre("B-PER", "O"));
}

TEST(Conll, KeepsWhatIsNoWord) {
  std::string text =
      "-DOCSTART- -X- O O\n\n# text = Ada sang\nAda  NNP\tO B-PER\n           \n"
      "sang VBD O O\r\n-DOCSTART- -X- O O\nParis NNP O B-LOC\n\n\n \n";
  auto all = read(text);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_THAT(all[0].words, ElementsAre("Ada"));
  EXPECT_THAT(all[1].words, ElementsAre("sang"));
  EXPECT_THAT(all[1].tags, ElementsAre("O"));
  EXPECT_THAT(all[2].words, ElementsAre("Paris"));
  EXPECT_EQ(all[2].first_line, 7u);
  EXPECT_THAT(all[3].words, IsEmpty());
  expect_same(text);
}

TEST(Conll, CommentsStandBeforeASentenceOnly) {
  // Without two columns it is no word of the file; as a word it has a tag, or stands behind others.
  auto all = read("# a comment\n# O\nx O\n# O\n\n# id=1\n# B-X\ny O\n# z\n");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_THAT(all[0].words, ElementsAre("#", "x", "#"));
  EXPECT_THAT(all[1].words, ElementsAre("#", "y", "#"));
  EXPECT_THAT(all[1].tags, ElementsAre("B-X", "O", "z"));
  EXPECT_THAT(read("#tag O\n").at(0).words, ElementsAre("#tag"));
}

TEST(Conll, AByteOrderMarkIsNoPartOfAWord) {
  expect_same("\uFEFFAda B-PER\nsang O\n");
  EXPECT_THAT(read("\uFEFFAda B-PER\n").at(0).words, ElementsAre("Ada"));
  EXPECT_THAT(read("\uFEFF-DOCSTART- O\n\nAda O\n").at(0).words, ElementsAre("Ada"));
}

TEST(Conll, EveryLineIsGivenOnce) {
  EXPECT_THAT(read(""), IsEmpty());
  for (std::string text : {"\n", "\n\n", "a O\n", "a O\n\n", "\na O\n", "a O\nb O\n\n\n\nc O\n\n\n",
                           "-DOCSTART- O\n", "# only a comment\n"}) {
    expect_same(text);
  }
  expect_same(std::string(200000, '\n') + "a O\n");
}

TEST(Conll, FilesToPredictMayLackTags) {
  std::optional<size_t> tag;
  auto all = read("Ada\nsang\n", to_predict(4), &tag);
  EXPECT_THAT(all.at(0).words, ElementsAre("Ada", "sang"));
  EXPECT_THAT(all.at(0).tags, IsEmpty());
  EXPECT_FALSE(tag);
  EXPECT_EQ(tagged_lines(all[0].lines, all[0].word_lines, tag, {"B-PER", "O"}),
            "Ada B-PER\nsang O\n");
  all = read("Ada\tNNP \nsang\tVBD\r\n", to_predict(3), &tag);
  EXPECT_EQ(tagged_lines(all[0].lines, all[0].word_lines, tag, {"B-PER", "O"}),
            "Ada\tNNP\tB-PER \nsang\tVBD\tO\r\n");
  all = read("Ada NNP  O x\n", to_predict(4), &tag);
  EXPECT_EQ(tag, 3u);
  EXPECT_EQ(tagged_lines(all[0].lines, all[0].word_lines, tag, {"B-PER"}), "Ada NNP  O B-PER\n");
  read("Ada O\n", to_predict(0), &tag);
  EXPECT_EQ(tag, 1u);
}

TEST(Conll, SaysWhatIsWrongAndWhere) {
  expect_error("a X O\nb O\n", "file.conll:2: 3 columns expected, as in the lines before, 2 found");
  expect_error("a O\n\nb X O\n",
               "file.conll:3: 2 columns expected, as in the lines before, 3 found");
  expect_error("\na\n", "file.conll:2: 2 columns or more expected");
  expect_error("a O\n", "file.conll:1: 3 columns or more expected, 2 found: column 3 is the tag",
               {.word = 1, .tag = 3});
  expect_error("a O\n", "--word_column=2", {.word = 2});
  expect_error("a O\n", "--tag_column=1", {.word = 1, .tag = 1});
  expect_error("a O\n", "--word_column=0", {.word = 0});
  expect_error("a O\nb\xFF O\n", "file.conll:2: invalid UTF-8");
  expect_error("a\nb O\n", "file.conll:2: 1 column expected", to_predict(2));
}

}  // namespace
}  // namespace bertrain
