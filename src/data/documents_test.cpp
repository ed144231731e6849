// Corpus reading: what ends a document, what makes a sentence, odd lines and bad bytes.
#include "data/documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include "base/error.h"
#include "base/log.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Sentences = std::vector<std::vector<std::string>>;  // texts of each document's sentences

Tokenizer letters() {
  return Tokenizer(
      Vocabulary::parse("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\nd\ne\nf\n", "letters"));
}

Sentences read(const std::vector<std::string>& texts, CorpusCounts& counts,
               InvalidUtf8 invalid_utf8 = InvalidUtf8::error) {
  std::vector<std::string> uris;
  for (size_t i = 0; i < texts.size(); ++i) {
    uris.push_back("mem://corpus-" + std::to_string(i));
    write_text(uris[i], texts[i]);
  }
  Tokenizer tokenizer = letters();
  Documents documents = read_documents(uris, tokenizer, invalid_utf8, counts);
  Sentences result(documents.size());
  for (size_t d = 0; d < documents.size(); ++d) {
    for (size_t s = 0; s < documents.sentences(d); ++s) {
      std::string text;
      for (int32_t id : documents.tokens(documents.run(d, s, s + 1))) {
        text += tokenizer.vocabulary().token(id);
      }
      result[d].push_back(text);
    }
  }
  return result;
}

Sentences read(const std::vector<std::string>& texts) {
  CorpusCounts counts;
  return read(texts, counts);
}

TEST(documents, BlankLinesPartDocuments) {
  EXPECT_EQ(read({"a b c\n \t \nd e f\n"}), (Sentences{{"abc"}, {"def"}}));
  EXPECT_EQ(read({"a b c\r\n \t \r\nd e f\r\n"}), (Sentences{{"abc"}, {"def"}}));
  EXPECT_EQ(read({"\n\n\na\nb\n\n\n\nc"}), (Sentences{{"a", "b"}, {"c"}}));
  EXPECT_EQ(read({"a\n\xe2\x80\xa9\xe3\x80\x80\nb\n"}), (Sentences{{"a"}, {"b"}}));
  EXPECT_EQ(read({""}), Sentences{});
  EXPECT_EQ(read({"\n\n\n", " \n"}), Sentences{});
}

TEST(documents, ALineOfNothingVisibleIsNoBlankLine) {
  CorpusCounts counts;
  EXPECT_EQ(read({"\xef\xbb\xbf"
                  "a\n\xe2\x80\x8b\nb\n"},
                 counts),
            (Sentences{{"a", "b"}}));
  EXPECT_EQ(counts.without_tokens, 1u);
  EXPECT_EQ(counts.lines, 3u);
}

TEST(documents, GoOnIntoTheNextFileWithAWarning) {
  std::string said;
  LogSink sink([&](std::string_view line) { said += line; });
  EXPECT_EQ(read({"a\n", "b\n\n", "c\n"}), (Sentences{{"a", "b"}, {"c"}}));
  EXPECT_THAT(said, HasSubstr("mem://corpus-0 ends without a blank line"));
  EXPECT_THAT(said, testing::Not(HasSubstr("mem://corpus-1 ends without")));
}

TEST(documents, RunsOfSentencesLieTogether) {
  Documents documents;
  documents.add_sentence(std::vector<int32_t>{1, 2});
  documents.add_sentence({});
  documents.end_document();
  documents.end_document();
  documents.add_sentence(std::vector<int32_t>{3});
  documents.add_sentence(std::vector<int32_t>{4, 5});
  EXPECT_TRUE(documents.is_open());
  documents.end_document();
  ASSERT_EQ(documents.size(), 2u);
  EXPECT_THAT(documents.tokens(documents.run(1, 0, 2)), ElementsAre(3, 4, 5));
  EXPECT_THAT(documents.tokens(documents.run(1, 1, 2)), ElementsAre(4, 5));
  EXPECT_EQ(documents.run(1, 1, 1).size, 0u);
  EXPECT_THAT(documents.tokens(documents.run(0, 0, 1)), ElementsAre(1, 2));
}

TEST(documents, BadBytesAreNamedReplacedOrLeftOut) {
  CorpusCounts counts;
  std::string text = "a\nb\nc \xff d\n";
  try {
    read({"a\n\n", text}, counts);
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("mem://corpus-1:3: invalid UTF-8 at byte 2"));
  }
  counts = {};
  EXPECT_EQ(read({text}, counts, InvalidUtf8::ignore), (Sentences{{"a", "b", "cd"}}));
  EXPECT_EQ(counts.repaired, 1u);
}

TEST(documents, AreTheSameForAnyNumberOfThreads) {
  std::string text;
  for (int i = 0; i < 200'000; ++i)
    text += i % 7 == 0 ? "\n" : "a b " + std::string(i % 5, 'c') + "\n";
  Sentences first;
  for (int threads : {1, 3}) {
    omp_set_num_threads(threads);
    Sentences read_now = read({text});
    if (threads == 1) first = read_now;
    EXPECT_EQ(read_now, first);
  }
  EXPECT_EQ(first.size(), 28'572u);
}

}  // namespace
}  // namespace bertrain
