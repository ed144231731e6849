// Reading a vocabulary file as the reference does, with its traps named.
#include "text/vocabulary.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "base/checked_json.h"
#include "base/error.h"
#include "base/log.h"
#include "storage/storage.h"
#include "text/unicode.h"

namespace bertrain {
namespace {

// Those of models for a hundred languages have a million pieces in 20 MiB.
constexpr uint64_t kMaxBytes = 64 << 20;
constexpr uint64_t kMostHoles = 1000;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// What is legal but rarely meant: counted, and said once.
struct Oddities {
  size_t blank = 0, blank_line = 0;
  size_t repeated = 0, repeated_line = 0;
  std::string repeated_token;
};

void warn(const Oddities& odd, std::string_view name) {
  if (odd.blank) {
    log_warning(
        "{}:{}: blank line in the vocabulary ({} in all); it takes an id that no text can get",
        name, odd.blank_line, odd.blank);
  }
  if (odd.repeated) {
    log_warning(
        "{}:{}: '{}' stands in the vocabulary twice ({} repeated lines in all); its last line is "
        "its id",
        name, odd.repeated_line, odd.repeated_token, odd.repeated);
  }
}

}  // namespace

Vocabulary::Vocabulary(std::vector<std::string> tokens, std::string name)
    : tokens_(std::move(tokens)), name_(std::move(name)) {
  if (tokens_.empty())
    throw error("{}: a vocabulary of one piece a line expected, it is empty", name_);
  if (tokens_.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    throw error("{}: {} lines are more than ids can number", name_, tokens_.size());
  }
  ids_.reserve(tokens_.size());
  for (size_t i = 0; i < tokens_.size(); ++i) ids_[tokens_[i]] = static_cast<int32_t>(i);
}

Vocabulary Vocabulary::parse(std::string_view text, std::string_view name) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::vector<std::string> tokens;
  std::unordered_set<std::string_view> seen;
  Oddities odd;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    size_t number = tokens.size() + 1;
    if (std::optional<size_t> bad = find_invalid_utf8(line)) {
      throw error("{}:{}: invalid UTF-8 at byte {}; a vocabulary is UTF-8 text, one piece a line",
                  name, number, *bad);
    }
    std::string_view token = strip(line);
    if (token.empty()) {
      if (odd.blank++ == 0) odd.blank_line = number;
    } else if (!seen.insert(token).second && odd.repeated++ == 0) {
      odd.repeated_line = number, odd.repeated_token = token;
    }
    tokens.emplace_back(token);
  }
  warn(odd, name);
  return Vocabulary(std::move(tokens), std::string(name));
}

Vocabulary Vocabulary::read(std::string_view uri) {
  return read(uri, {kUnknown, kClassify, kSeparate, kMask});
}

Vocabulary Vocabulary::read(std::string_view uri,
                            std::initializer_list<std::string_view> required) {
  Vocabulary vocabulary = parse(read_text_up_to(uri, kMaxBytes), uri);
  vocabulary.require(required);
  return vocabulary;
}

std::optional<Vocabulary> Vocabulary::read_tokenizer(
    std::string_view uri, std::initializer_list<std::string_view> required) {
  LargeJson json = parse_large_json(read_text_up_to(uri, kMaxBytes), uri);
  auto model = json.find("model");
  if (model == json.end() || !model->is_object() ||
      model->value("type", LargeJson()) != "WordPiece") {
    return std::nullopt;
  }
  if (model->value("continuing_subword_prefix", LargeJson("##")) != "##") {
    throw error("{}: model.continuing_subword_prefix is not \"##\", as this program knows no other",
                uri);
  }
  LargeJson pieces = model->value("vocab", LargeJson());
  if (!pieces.is_object()) throw error("{}: model.vocab: pieces with their ids expected", uri);
  // Words that were added stand beside the model, mostly at the end of its table.
  for (const LargeJson& added : json.value("added_tokens", LargeJson::array())) {
    if (!added.is_object()) continue;
    LargeJson content = added.value("content", LargeJson()), id = added.value("id", LargeJson());
    if (!content.is_string() || pieces.contains(content.get<std::string>())) continue;
    log_warning("{}: '{}' was added to its pieces; here it is found as a whole word only", uri,
                content.get<std::string>());
    pieces[content.get<std::string>()] = id;
  }
  std::vector<std::string> tokens;
  std::vector<bool> taken;
  for (const auto& [piece, id] : pieces.items()) {
    // Few ids are left out: those of lines that vocab.txt had twice.
    uint64_t most = 2 * pieces.size() + kMostHoles;
    if (!id.is_number_unsigned() || id.get<uint64_t>() > most) {
      throw error("{}: the id of '{}' is {}; a number up to {} expected", uri, piece, id.dump(),
                  most);
    }
    auto at = static_cast<size_t>(id.get<uint64_t>());
    if (at >= tokens.size()) tokens.resize(at + 1), taken.resize(at + 1);
    if (taken[at]) throw error("{}: '{}' and '{}' both have the id {}", uri, tokens[at], piece, at);
    tokens[at] = piece, taken[at] = true;
  }
  Vocabulary vocabulary(std::move(tokens), std::string(uri));
  vocabulary.require(required);
  return vocabulary;
}

int32_t Vocabulary::find(std::string_view token) const {
  auto found = ids_.find(token);
  return found == ids_.end() ? -1 : found->second;
}

int32_t Vocabulary::id(std::string_view token) const {
  int32_t id = find(token);
  if (id < 0) throw error("{}: no piece '{}'", name_, token);
  return id;
}

std::vector<std::string> Vocabulary::distinct() const {
  std::vector<std::string> words;
  std::unordered_set<std::string_view> seen;
  for (const std::string& token : tokens_) {
    if (seen.insert(token).second) words.push_back(token);
  }
  return words;
}

void Vocabulary::require(std::initializer_list<std::string_view> tokens) const {
  std::string missing;
  for (std::string_view token : tokens) {
    if (find(token) < 0) missing += (missing.empty() ? "" : ", ") + std::string(token);
  }
  if (missing.empty()) return;
  throw error("{}: {} missing among its {} pieces; is this the vocab.txt of a BERT model?", name_,
              missing, size());
}

void Vocabulary::check_fits(int64_t rows, std::string_view model) const {
  if (static_cast<int64_t>(size()) <= rows) return;
  throw error(
      "{} has {} pieces, the word embeddings of {} have {} rows: this vocabulary is not that "
      "model's",
      name_, size(), model, rows);
}

}  // namespace bertrain
