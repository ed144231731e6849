// Any bytes as columns of words and tags; the first byte chooses the columns. What was read is written again, goes in
// windows, and is scored against itself.
#include "fuzz_input.h"
#include "storage/storage.h"
#include "task/tagging/conll.h"
#include "task/tagging/entity_scores.h"
#include "task/tagging/tag_windows.h"

namespace bertrain {
namespace {

const Tokenizer& toy() {
  static const Tokenizer tokenizer(
      Vocabulary::parse("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##a\nb\n##b\n-\n.\n", "v"), {});
  return tokenizer;
}

void require_windows(const std::vector<std::string>& words) {
  static const WordPieces pieces(toy(), 8);
  size_t next = 0;
  for (const TagWindow& window : pieces.windows(words)) {
    check(window.ids.size() <= 8, "a window fits");
    check(window.first_word == next || words.empty(), "words are tagged in their order");
    for (uint32_t position : window.positions) {
      check(position > 0 && position + 1 < window.ids.size(), "a word's piece is in its window");
    }
    next += window.positions.size();
  }
  check(next == words.size(), "every word is tagged once");
}

void fuzz(std::string_view input) {
  unsigned char choice = input.empty() ? 0 : static_cast<unsigned char>(input[0]);
  write_text(kFuzzed, input.empty() ? input : input.substr(1));
  ConllColumns columns;
  columns.word = 1 + (choice & 3);
  columns.tag = choice >> 2 & 3;
  columns.tags_optional = choice & 16;
  columns.trained = choice >> 5 & 3;
  refusing([&] {
    ConllReader reader(std::string(kFuzzed), columns,
                       choice & 128 ? InvalidUtf8::replace : InvalidUtf8::error);
    ConllSentence sentence;
    EntityScores scores;
    uint64_t line = 1;
    while (reader.next(sentence)) {
      check(sentence.first_line == line || sentence.lines.empty(), "every line is in a sentence");
      line += sentence.lines.size();
      check(sentence.word_lines.size() == sentence.words.size(), "a word has its line");
      check(sentence.tags.empty() || sentence.tags.size() == sentence.words.size(),
            "all words have tags, or none");
      require_windows(sentence.words);
      if (sentence.tags.empty()) continue;
      std::string kept, again = tagged_lines(sentence.lines, sentence.word_lines,
                                             reader.tag_column(), sentence.tags);
      for (const std::string& l : sentence.lines) kept += l + "\n";
      check(kept == again, "its own tags leave a sentence as it is");
      scores.add(sentence.tags, sentence.tags);
    }
    Hits hits = scores.all();
    check(hits.false_positive == 0 && hits.false_negative == 0, "tags are equal to themselves");
  });
}

}  // namespace
}  // namespace bertrain

BERTRAIN_FUZZ(bertrain::fuzz)
