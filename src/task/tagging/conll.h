// Sentences in CoNLL columns: a word a line with its tag, every other line kept, so that tags go back
// into the layout they came in (docs/formats/conll.md).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/storage.h"
#include "text/unicode.h"

namespace bertrain {

inline constexpr size_t kMostSentenceWords = size_t{1} << 20;  // what is longer is no sentence

struct ConllColumns {
  int64_t word = 1;  // counted from 1
  int64_t tag = 0;   // 0: the last one
  // A file to predict may lack the tags: lines with as many columns as the file that was trained on
  // have them, others have not. Where that is not known (0), lines of one column have none.
  bool tags_optional = false;
  int64_t trained = 0;
};

// A part of the file that ends with a sentence: its lines in their order, without their ends.
struct ConllSentence {
  std::vector<std::string> lines;
  std::vector<int64_t> word_lines;  // indices in lines of the words
  uint64_t first_line = 0;          // number in the file of lines[0], from 1
  std::vector<std::string> words;
  std::vector<std::string> tags;  // as many as words; empty: the file has none

  uint64_t line_of(size_t word) const {
    return first_line + static_cast<uint64_t>(word_lines.at(word));
  }
};

// Reads a file ("-" is standard input) sentence by sentence. Columns lie between blanks and tabs, any
// number of them. A sentence ends at a blank line, at a line of -DOCSTART-, and at the end of the file.
// A line that begins with "# " or is "#" is a comment where no word of its sentence was read yet,
// unless it has as many columns as the words and, where there are tags, a tag: O or X-….
class ConllReader {
 public:
  // Throws a usage error for columns that cannot be, Error where the file cannot be opened.
  ConllReader(const std::string& uri, const ConllColumns& columns, InvalidUtf8 invalid);

  // False at the end. All lines of the file are in one sentence or another: those behind the last
  // one are given as a sentence without words. Throws Error "FILE:LINE: 4 columns expected, 3 found"
  // where a word's line is not like the first one. Returns as soon as a sentence has ended, so that
  // somebody who types it has an answer.
  bool next(ConllSentence& sentence);

  // Known from the first word on.
  std::optional<size_t> tag_column() const { return tag_; }  // from 0; absent: there are no tags
  const std::string& uri() const { return uri_; }
  size_t columns() const { return width_; }
  uint64_t repaired() const { return repaired_; }  // lines that were not UTF-8

 private:
  using Fields = std::vector<std::string_view>;
  bool read_line(std::string& line);
  // Of a line that begins like a comment: whether it is a word all the same.
  bool is_word(const Fields& fields) const;
  void learn_columns(size_t found);
  void recall_words(ConllSentence& sentence, size_t first) const;
  void add_word(ConllSentence& sentence, const Fields& fields, uint64_t number) const;

  std::string uri_;
  std::unique_ptr<LineReader> lines_;
  ConllColumns options_;
  InvalidUtf8 invalid_;
  std::optional<std::string> waiting_;  // a line that was read and begins the next part
  size_t width_ = 0;                    // columns; 0: no word was seen
  size_t word_ = 0;                     // from 0
  std::optional<size_t> tag_;
  uint64_t repaired_ = 0, number_ = 0;  // number: of the line last read
};

// Lines of a sentence with `tags`, one for each of word_lines, in their column (from 0), or behind the
// last column where there is none; each ends with \n.
std::string tagged_lines(const std::vector<std::string>& lines,
                         const std::vector<int64_t>& word_lines, std::optional<size_t> tag_column,
                         const std::vector<std::string>& tags);

}  // namespace bertrain
