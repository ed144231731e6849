// The pieces that text is cut into, one a line in a file, numbered from 0
// (docs/formats/vocabulary.md).
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace bertrain {

inline constexpr std::string_view kPad = "[PAD]", kUnknown = "[UNK]", kClassify = "[CLS]",
                                  kSeparate = "[SEP]", kMask = "[MASK]";

class Vocabulary {
 public:
  // The reference's reading: a line is stripped of blanks at both ends, its number is its id, and
  // of equal lines the last one counts. A byte order mark is skipped. Blank lines (they are the
  // token "") and repeated lines are warned of once, with the first line number. Throws Error for
  // bytes that are not UTF-8, an empty file, one of more than 64 MiB, or a missing token of
  // `required`, naming it.
  static Vocabulary read(std::string_view uri);  // [UNK] [CLS] [SEP] [MASK] must be there
  static Vocabulary read(std::string_view uri, std::initializer_list<std::string_view> required);
  static Vocabulary parse(std::string_view text, std::string_view name);  // of a file's content

  // The pieces of a tokenizer.json, which newer folders of transformers have in place of vocab.txt, with
  // the checks of read(). Ids that no piece has are the token "". nullopt: its model is not WordPiece.
  static std::optional<Vocabulary> read_tokenizer(std::string_view uri,
                                                  std::initializer_list<std::string_view> required);

  explicit Vocabulary(std::vector<std::string> tokens, std::string name = "vocabulary");

  size_t size() const { return tokens_.size(); }  // lines: ids are 0 … size() - 1
  const std::string& token(int32_t id) const { return tokens_.at(static_cast<size_t>(id)); }
  const std::vector<std::string>& tokens() const { return tokens_; }  // by id
  int32_t find(std::string_view token) const;                         // -1: not in the vocabulary
  int32_t id(std::string_view token) const;          // throws Error naming the token and the file
  const std::string& name() const { return name_; }  // where it came from, for messages

  // Distinct tokens at the place of their first line: the words a random replacement is drawn from.
  std::vector<std::string> distinct() const;

  void require(std::initializer_list<std::string_view> tokens) const;
  // Throws when an id would have no row in a model's word embeddings; `model` names the model.
  void check_fits(int64_t rows, std::string_view model) const;

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
  };
  std::vector<std::string> tokens_;
  std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> ids_;
  std::string name_;
};

}  // namespace bertrain
