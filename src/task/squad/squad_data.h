// Question answering data in SQuAD's layout, versions 1.1 and 2.0, as contexts and questions
// (docs/formats/squad.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bertrain {

struct SquadAnswer {
  std::string text;
  int64_t start = -1;  // code points of the context before it; -1: the file does not say
};

// A paragraph, and its words as run_squad.py counts them: what lies between blanks, tabs, line ends
// and U+202F. No other blank separates.
struct SquadContext {
  struct Word {
    uint32_t begin, end;  // bytes
    uint32_t character;   // code points before it
  };
  std::string text;
  std::vector<Word> words;
  uint64_t characters = 0;  // code points

  explicit SquadContext(std::string text);
  std::string_view word(size_t index) const {
    return std::string_view(text).substr(words[index].begin, words[index].end - words[index].begin);
  }
  std::string joined(size_t first, size_t last) const;  // words [first, last], a blank between
  // The word at a code point, the one before where there is a blank; -1 before the first word.
  int64_t word_at(uint64_t character) const;
};

struct SquadQuestion {
  std::string id, text;
  uint32_t context = 0;              // index
  std::vector<SquadAnswer> answers;  // as the file has them
  bool is_impossible = false;        // the file says so; where it says nothing: no answers
  // Of the first answer, in words of the context, both inclusive: for training only; else -1.
  int64_t first_word = -1, last_word = -1;
};

enum class SquadUse {
  training,    // every question is impossible or has an answer at a place of its context
  prediction,  // answers are not needed
  scoring,     // every question has a list of answers; places are not needed
};

struct SquadData {
  std::string name;     // the file
  std::string version;  // "1.1", "v2.0", …; "" where the file does not say
  std::vector<SquadContext> contexts;
  std::vector<SquadQuestion> questions;  // in the file's order
  // Questions without an answer: the data are SQuAD 2.0's, whatever the file's version says.
  uint64_t impossible = 0;
  uint64_t several_answers = 0;  // training: the first one counts
  // Training: questions left out because their answer is not where answer_start says.
  uint64_t not_found = 0;
};

// Reads a file (gzip is recognised). Warns once of each kind of thing it notices, with the number
// and the first one: answers that are not found, several answers, contradictions, ids that come
// twice. Throws Error that names file and key ("x.json: data.0.paragraphs.2.qas is missing"), also
// for a file beyond 1 GiB, and for one without any question, which only prediction takes.
SquadData read_squad(std::string_view uri, SquadUse use);
SquadData parse_squad(std::string_view json, std::string_view name, SquadUse use);

}  // namespace bertrain
