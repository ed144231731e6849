// The tokenizer with offsets; tokenizer_fast.cpp has the way that only makes ids.
#include "text/tokenizer.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/log.h"
#include "text/byte_bpe.h"
#include "text/raw_words.h"
#include "text/tokenizer_tables.h"
#include "text/unicode.h"
#include "text/word_cache.h"

namespace bertrain {
namespace {

bool is_punctuation(char32_t c) { return character(c).flags & kPunctuation; }

std::string to_utf8(const std::u32string& text) {
  std::string out;
  for (char32_t c : text) append_utf8(c, out);
  return out;
}

// Turns code points of a text into bytes by walking from where it was: offsets mostly grow, and
// marks put into another order go back a little.
class ByteCursor {
 public:
  explicit ByteCursor(std::string_view text) : text_(text) {}

  uint64_t bytes_at(uint64_t code_points) {
    for (; at_ < code_points; ++at_) bytes_ += decode_utf8(text_.substr(bytes_)).bytes;
    for (; at_ > code_points; --at_) bytes_ -= bytes_before();
    return bytes_;
  }
  uint64_t code_points_at(uint64_t bytes) {
    for (; bytes_ < bytes; ++at_) bytes_ += decode_utf8(text_.substr(bytes_)).bytes;
    for (; bytes_ > bytes; --at_) bytes_ -= bytes_before();
    return at_;
  }

 private:
  // A byte that can lead is never inside another character, so the lead that reaches exactly here
  // is the right one.
  size_t bytes_before() const {
    for (size_t k = std::min<size_t>(4, bytes_); k > 1; --k) {
      if (decode_utf8(text_.substr(bytes_ - k)).bytes == k) return k;
    }
    return 1;
  }

  std::string_view text_;
  uint64_t at_ = 0, bytes_ = 0;
};

// Places of normalized code points in the text.
class Places {
 public:
  explicit Places(std::string_view text) : text_(text), begin_(text), end_(text) {}

  void enter(std::string_view raw) {
    start_ = begin_.code_points_at(static_cast<uint64_t>(raw.data() - text_.data()));
  }

  template <class Span>
  void locate(const NormalizedWord& word, size_t first, size_t last, Span& span) {
    auto a = static_cast<ptrdiff_t>(first), b = static_cast<ptrdiff_t>(last);
    span.begin = start_ + *std::min_element(word.begin.begin() + a, word.begin.begin() + b);
    span.end = start_ + *std::max_element(word.end.begin() + a, word.end.begin() + b);
    span.byte_begin = begin_.bytes_at(span.begin);
    span.byte_end = end_.bytes_at(span.end);
  }

  PieceSpan of_plain(std::string_view raw, int32_t id) {  // ASCII: a byte is a code point
    PieceSpan span{id, start_, start_ + raw.size(), 0, 0};
    span.byte_begin = begin_.bytes_at(span.begin);
    span.byte_end = end_.bytes_at(span.end);
    return span;
  }

 private:
  std::string_view text_;
  ByteCursor begin_, end_;
  uint64_t start_ = 0;  // of the raw word, in code points
};

const TokenizerOptions& checked(const TokenizerOptions& options) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (options.max_chars_per_word < 1 || options.max_chars_per_word > kMost) {
    throw usage_error("--max_input_chars_per_word={}: a number from 1 to {} expected",
                      options.max_chars_per_word, kMost);
  }
  return options;
}

}  // namespace

size_t basic_token_end(const std::u32string& text, size_t at) {
  if (is_punctuation(text[at])) return at + 1;
  while (at < text.size() && !is_punctuation(text[at])) ++at;
  return at;
}

WordCutter::WordCutter(const Vocabulary& vocabulary, const TokenizerOptions& options)
    : strip(options.strip_accents.value_or(options.do_lower_case)),
      lower(options.do_lower_case),
      normalizer(lower, strip),
      wordpiece(vocabulary, options.max_chars_per_word),
      max_chars(static_cast<size_t>(options.max_chars_per_word)),
      serial(WordCache::new_serial()) {
  for (std::string_view token : {kPad, kUnknown, kClassify, kSeparate, kMask}) {
    int32_t id = vocabulary.find(token);
    if (options.special_tokens_in_text && id >= 0) specials.emplace_back(token, id);
  }
  std::vector<WordPieceMatch> matches;
  for (size_t i = 0; i < symbol_ids.size(); ++i) {
    char symbol = static_cast<char>(i);
    wordpiece.match({&symbol, 1}, matches);
    symbol_ids[i] = matches[0].id;
  }
}

void WordCutter::normalize(std::string_view raw, std::string_view before,
                           NormalizedWord& word) const {
  normalizer.normalize(raw, before, word);
  if (!word.lost_letters || warned.exchange(true)) return;
  log_warning(
      "stripping accents also removes vowel signs and other marks that are letters of their "
      "script, as in '{}' -> '{}'; --strip_accents=false keeps them",
      raw, to_utf8(word.text));
}

void WordCutter::append_raw_word(std::string_view raw, std::string_view before,
                                 WordScratch& scratch, std::vector<int32_t>& ids) const {
  normalize(raw, before, scratch.word);
  const std::u32string& text = scratch.word.text;
  for (size_t at = 0; at < text.size();) {
    size_t end = basic_token_end(text, at);
    scratch.text.clear();
    for (; at < end; ++at) append_utf8(text[at], scratch.text);
    wordpiece.match(scratch.text, scratch.matches);
    for (const WordPieceMatch& m : scratch.matches) ids.push_back(m.id);
  }
}

void WordCutter::append_letters(std::string_view raw, WordScratch& scratch,
                                std::vector<int32_t>& ids) const {
  scratch.text = raw;
  if (lower) {
    for (char& c : scratch.text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
  }
  wordpiece.match(scratch.text, scratch.matches);
  for (const WordPieceMatch& m : scratch.matches) ids.push_back(m.id);
}

void WordCutter::each_word(std::string_view text,
                           const std::function<void(const WordSpan&)>& visit) const {
  NormalizedWord word;
  WordSpan span;
  Places places(text);
  auto visit_words = [&](ByteKind, std::string_view raw, std::string_view before) {
    normalize(raw, before, word);
    places.enter(raw);
    for (size_t first = 0; first < word.text.size();) {
      size_t last = basic_token_end(word.text, first);
      places.locate(word, first, last, span);
      span.text.clear();
      for (; first < last; ++first) append_utf8(word.text[first], span.text);
      visit(span);
    }
  };
  each_part(text, [&](std::string_view part, int32_t special) {
    if (special < 0) return each_raw_word(part, visit_words);
    places.enter(part);
    PieceSpan place = places.of_plain(part, special);
    visit({std::string(part), place.begin, place.end, place.byte_begin, place.byte_end});
  });
}

void WordCutter::each_piece(std::string_view text,
                            const std::function<void(const PieceSpan&)>& visit) const {
  WordScratch scratch;
  Places places(text);
  auto visit_pieces = [&](ByteKind kind, std::string_view raw, std::string_view before) {
    if (kind == ByteKind::letter &&
        raw.size() > max_chars) {  // not worth normalizing, however long it is
      places.enter(raw);
      return visit(places.of_plain(raw, wordpiece.unknown()));
    }
    normalize(raw, before, scratch.word);
    places.enter(raw);
    const std::u32string& word = scratch.word.text;
    for (size_t first = 0; first < word.size();) {
      size_t last = basic_token_end(word, first);
      scratch.text.clear();
      for (size_t i = first; i < last; ++i) append_utf8(word[i], scratch.text);
      wordpiece.match(scratch.text, scratch.matches);
      size_t covered = 0;  // bytes of the token
      for (const WordPieceMatch& m : scratch.matches) {
        auto part = std::string_view(scratch.text).substr(covered, m.end - covered);
        size_t next = first + count_code_points(part);
        PieceSpan span;
        span.id = m.id;
        places.locate(scratch.word, first, next, span);
        visit(span);
        first = next, covered = m.end;
      }
    }
  };
  each_part(text, [&](std::string_view part, int32_t special) {
    if (special < 0) return each_raw_word(part, visit_pieces);
    places.enter(part);
    visit(places.of_plain(part, special));
  });
}

Tokenizer::Tokenizer(Vocabulary vocabulary, TokenizerOptions options)
    : vocabulary_(std::make_unique<const Vocabulary>(std::move(vocabulary))),
      options_(checked(options)),
      special_(kBertSpecials),
      cutter_(std::make_unique<const WordCutter>(*vocabulary_, options_)) {}

Tokenizer::Tokenizer(ByteBpeModel model, const TokenizerOptions& options)
    : vocabulary_(std::make_unique<const Vocabulary>(std::move(model.vocabulary))),
      options_{.do_lower_case = false,
               .strip_accents = {},
               .special_tokens_in_text = options.special_tokens_in_text},
      special_(kRobertaSpecials) {
  auto bpe = std::make_unique<const ByteBpe>(*vocabulary_, std::move(model.rules),
                                             options_.special_tokens_in_text);
  byte_bpe_ = &bpe->rules();
  cutter_ = std::move(bpe);
}

Tokenizer Tokenizer::with(TokenizerOptions options) const {
  Vocabulary copy(vocabulary_->tokens(), vocabulary_->name());
  if (byte_bpe_) return {ByteBpeModel{std::move(copy), *byte_bpe_}, options};
  return Tokenizer(std::move(copy), options);
}

Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

bool Tokenizer::strips_accents() const {
  return options_.strip_accents.value_or(options_.do_lower_case);
}

std::vector<int32_t> Tokenizer::ids(std::string_view text) const {
  std::vector<int32_t> ids;
  append_ids(text, ids);
  return ids;
}

void Tokenizer::append_ids(std::string_view text, std::vector<int32_t>& ids) const {
  cutter_->append_ids(text, ids);
}

void Tokenizer::each_piece(std::string_view text,
                           const std::function<void(const PieceSpan&)>& visit) const {
  cutter_->each_piece(text, visit);
}

void Tokenizer::each_word(std::string_view text,
                          const std::function<void(const WordSpan&)>& visit) const {
  cutter_->each_word(text, visit);
}

std::vector<Piece> Tokenizer::pieces(std::string_view text) const {
  std::vector<Piece> pieces;
  each_piece(text, [&](const PieceSpan& span) {
    pieces.push_back({span, vocabulary_->token(span.id)});
  });
  return pieces;
}

std::vector<WordSpan> Tokenizer::words(std::string_view text) const {
  std::vector<WordSpan> words;
  each_word(text, [&](const WordSpan& span) { words.push_back(span); });
  return words;
}

}  // namespace bertrain
