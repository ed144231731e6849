// Matching by counting the characters that are no blanks, in code points as Python counts.
#include "task/squad/final_text.h"

#include <vector>

#include "text/unicode.h"

namespace bertrain {
namespace {

// The text's characters but U+0020, each with its bytes' place.
struct Dense {
  std::vector<size_t> begin, end;  // of the k-th character

  explicit Dense(std::string_view text) {
    for (size_t at = 0; at < text.size();) {
      size_t bytes = decode_utf8(text.substr(at)).bytes;
      if (text[at] != ' ') {
        begin.push_back(at);
        end.push_back(at + bytes);
      }
      at += bytes;
    }
  }
};

// How many characters but U+0020.
size_t dense_length(std::string_view text) {
  size_t length = 0;
  while (!text.empty()) {
    length += text.front() != ' ';
    text.remove_prefix(decode_utf8(text).bytes);
  }
  return length;
}

void remove_all(std::string& text, std::string_view what) {
  std::string out;
  size_t from = 0;
  for (size_t at; (at = text.find(what, from)) != std::string::npos; from = at + what.size()) {
    out.append(text, from, at - from);
  }
  text = out.append(text, from);
}

}  // namespace

std::string joined_pieces(std::string_view pieces_and_blanks) {
  std::string text(pieces_and_blanks);
  remove_all(text, " ##");
  remove_all(text, "##");
  std::string out;
  bool gap = false;
  for (std::string_view rest = text; !rest.empty();) {
    Decoded d = decode_utf8(rest);
    if (character(d.code_point).flags & kPythonSpace) {
      gap = !out.empty();
    } else {
      if (gap) out += ' ';
      gap = false;
      out += rest.substr(0, d.bytes);
    }
    rest.remove_prefix(d.bytes);
  }
  return out;
}

std::string final_text(std::string_view predicted, std::string_view original,
                       const Tokenizer& tokenizer) {
  std::string basic;
  tokenizer.each_word(original, [&](const WordSpan& word) {
    if (!basic.empty()) basic += ' ';
    basic += word.text;
  });
  size_t found = basic.find(predicted);
  // A prediction begins and ends with a character of a token: those alone have a place.
  if (found == std::string::npos || predicted.empty() || predicted.front() == ' ' ||
      predicted.back() == ' ') {
    return std::string(original);
  }
  Dense text(original);
  if (text.begin.size() != dense_length(basic)) return std::string(original);
  size_t first = dense_length(std::string_view(basic).substr(0, found));
  size_t last = first + dense_length(predicted) - 1;
  return std::string(original.substr(text.begin[first], text.end[last] - text.begin[first]));
}

}  // namespace bertrain
