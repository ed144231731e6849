// Words by GPT-2's expression, their pieces by the merges' ranks.
#include "text/byte_bpe.h"

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "text/unicode.h"
#include "text/word_cache.h"

namespace bertrain {
namespace {

enum class WordKind : uint8_t { letter, number, other, blank };

WordKind kind_of(char32_t c) {
  uint16_t flags = character(c).flags;
  if (flags & kLetter) return WordKind::letter;
  if (flags & kNumber) return WordKind::number;
  // White_Space: str.isspace() but the four separators of ASCII.
  bool blank = (flags & kPythonSpace) && !(c >= 0x1C && c <= 0x1F);
  return blank ? WordKind::blank : WordKind::other;
}

std::array<WordKind, 128> make_ascii_kinds() {
  std::array<WordKind, 128> kinds{};
  for (char32_t c = 0; c < kinds.size(); ++c) kinds[c] = kind_of(c);
  return kinds;
}
const std::array<WordKind, 128> kAsciiKinds = make_ascii_kinds();

struct Seen {
  WordKind kind;
  size_t bytes;
};
Seen look(std::string_view text, size_t at) {
  auto byte = static_cast<unsigned char>(text[at]);
  if (byte < 128) return {kAsciiKinds[byte], 1};
  Decoded d = decode_utf8(text.substr(at));
  return {kind_of(d.code_point), d.bytes};
}

size_t run_end(std::string_view text, size_t at, WordKind kind) {
  while (at < text.size()) {
    Seen seen = look(text, at);
    if (seen.kind != kind) break;
    at += seen.bytes;
  }
  return at;
}

// 's|'t|'re|'ve|'m|'ll|'d, or 0.
size_t contraction_bytes(std::string_view text) {
  for (std::string_view c : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    if (text.starts_with(c)) return c.size();
  }
  return 0;
}

// Where the blanks at the end of a text start.
size_t trailing_blanks(std::string_view text) {
  size_t end = text.size();
  while (end > 0) {
    size_t at = end - 1;
    while (at > 0 && end - at < 4 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
    Seen seen = look(text, at);
    if (seen.kind != WordKind::blank || at + seen.bytes != end) break;
    end = at;
  }
  return end;
}

// Places in code points for places in bytes, which only grow.
class CodePoints {
 public:
  explicit CodePoints(std::string_view text) : text_(text) {}
  // Of the character that holds the byte.
  uint64_t below(uint64_t byte) {
    advance(byte);
    return at_;
  }
  // Behind the character that holds the byte before this one.
  uint64_t above(uint64_t byte) {
    advance(byte);
    return at_ + (bytes_ < byte ? 1 : 0);
  }

 private:
  void advance(uint64_t byte) {
    while (bytes_ < byte) {
      uint64_t next = bytes_ + decode_utf8(text_.substr(bytes_)).bytes;
      if (next > byte) return;
      bytes_ = next, ++at_;
    }
  }
  std::string_view text_;
  uint64_t at_ = 0, bytes_ = 0;
};

// Blanks that a piece starts or ends with, as its vocabulary writes them.
uint8_t blanks_at(std::string_view token, bool end) {
  constexpr std::string_view kBlank = "Ġ";
  uint8_t n = 0;
  while (n < 255 && (end ? token.ends_with(kBlank) : token.starts_with(kBlank))) {
    end ? token.remove_suffix(kBlank.size()) : token.remove_prefix(kBlank.size());
    ++n;
  }
  return n;
}

// One merge that could be made: of two pieces with this rank, the leftmost first.
struct Candidate {
  int32_t rank;
  uint32_t at;
  bool operator>(const Candidate& o) const { return rank != o.rank ? rank > o.rank : at > o.at; }
};

struct Symbol {
  int32_t id;
  uint32_t previous, next;  // kNone: there is none
  uint32_t bytes;           // 0: merged into another one
};
constexpr uint32_t kNone = 0xFFFFFFFF;
// Longer runs are cut here, so that places fit 32 bits; no merge of a real model is as long.
constexpr size_t kLongestWord = size_t{1} << 30;

}  // namespace

struct ByteBpe::Scratch {
  std::vector<Symbol> symbols;
  std::vector<Candidate> heap;
  std::vector<int32_t> ids;
  std::vector<uint32_t> lengths;  // bytes of each
  std::string prefixed;           // a part with a blank in front
};

char32_t byte_character(uint8_t byte) {
  auto printable = [](unsigned b) {
    return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
  };
  if (printable(byte)) return byte;
  char32_t c = 256;
  for (unsigned b = 0; b < byte; ++b) c += !printable(b);
  return c;
}

size_t byte_bpe_word_bytes(std::string_view text) {
  if (text[0] == '\'') {
    if (size_t bytes = contraction_bytes(text)) return bytes;
  }
  Seen first = look(text, 0);
  if (first.kind != WordKind::blank) return run_end(text, first.bytes, first.kind);
  if (text[0] == ' ' && text.size() > 1) {
    Seen second = look(text, 1);
    if (second.kind != WordKind::blank) return run_end(text, 1 + second.bytes, second.kind);
  }
  // Blanks, but for the last one where a word follows.
  size_t end = 0, last = 0;
  while (end < text.size()) {
    Seen seen = look(text, end);
    if (seen.kind != WordKind::blank) break;
    last = end;
    end += seen.bytes;
  }
  return end == text.size() || last == 0 ? end : last;
}

ByteBpe::ByteBpe(const Vocabulary& vocabulary, ByteBpeRules rules, bool special_tokens_in_text)
    : rules_(std::move(rules)), serial_(WordCache::new_serial()) {
  for (size_t byte = 0; byte < 256; ++byte) {
    std::string character;
    append_utf8(byte_character(static_cast<uint8_t>(byte)), character);
    byte_ids_[byte] = vocabulary.find(character);
    if (byte_ids_[byte] < 0) {
      throw error("{}: '{}', the piece of byte {}, is missing; byte-level BPE has one of each byte",
                  vocabulary.name(), character, byte);
    }
  }
  for (std::string_view token : {kRobertaSpecials.unknown, kRobertaSpecials.classify,
                                 kRobertaSpecials.separate, kRobertaSpecials.mask}) {
    vocabulary.id(token);
  }
  for (const std::string& token : vocabulary.tokens()) {
    blanks_before_.push_back(blanks_at(token, false));
    blanks_after_.push_back(blanks_at(token, true));
  }
  add_merges();
  for (bool normalized : {false, true}) {
    Starts starts;
    bool any = false;
    for (const AddedToken& token : rules_.added) {
      if (token.text.empty() || token.normalized != normalized) continue;
      if (token.special && !special_tokens_in_text) continue;
      starts[static_cast<unsigned char>(token.text[0])].push_back(&token);
      any = true;
    }
    for (auto& tokens : starts) {
      std::stable_sort(tokens.begin(), tokens.end(), [](const AddedToken* a, const AddedToken* b) {
        return a->text.size() > b->text.size();
      });
    }
    if (any) starts_.push_back(std::move(starts));
  }
}

namespace {

uint64_t pair_of(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

size_t place_of(uint64_t pair, size_t places) {  // places: a power of two
  uint64_t h = pair * 0x9E3779B97F4A7C15u;
  return (h ^ h >> 32) & (places - 1);
}

}  // namespace

void ByteBpe::add_merges() {
  size_t places = 16;
  while (places < 2 * rules_.merges.size()) places *= 2;
  merges_.resize(places);
  for (size_t rank = 0; rank < rules_.merges.size(); ++rank) {
    const ByteBpeMerge& merge = rules_.merges[rank];
    uint64_t pair = pair_of(merge.left, merge.right);
    size_t at = place_of(pair, places);
    while (merges_[at].pair != kNoPair && merges_[at].pair != pair) at = (at + 1) & (places - 1);
    // Of equal merges the last one counts, as in the library of tokenizers.
    merges_[at] = {pair, static_cast<int32_t>(rank), merge.result};
  }
}

const ByteBpe::MergePlace* ByteBpe::find_merge(int32_t left, int32_t right) const {
  uint64_t pair = pair_of(left, right);
  for (size_t at = place_of(pair, merges_.size());; at = (at + 1) & (merges_.size() - 1)) {
    if (merges_[at].pair == pair) return &merges_[at];
    if (merges_[at].pair == kNoPair) return nullptr;
  }
}

// Merge by merge from a heap: n log n for a word of n bytes, however long somebody makes it.
void ByteBpe::cut_word(std::string_view word, Scratch& scratch) const {
  scratch.ids.clear(), scratch.lengths.clear();
  auto& symbols = scratch.symbols;
  auto& heap = scratch.heap;
  symbols.clear(), heap.clear();
  auto count = static_cast<uint32_t>(word.size());
  for (uint32_t i = 0; i < count; ++i) {
    symbols.push_back({byte_ids_[static_cast<unsigned char>(word[i])], i == 0 ? kNone : i - 1,
                       i + 1 < count ? i + 1 : kNone, 1});
  }
  auto consider = [&](uint32_t at) {
    if (at == kNone || symbols[at].next == kNone) return;
    const MergePlace* merge = find_merge(symbols[at].id, symbols[symbols[at].next].id);
    if (merge == nullptr) return;
    heap.push_back({merge->rank, at});
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
  };
  for (uint32_t i = 0; i < count; ++i) consider(i);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    Candidate best = heap.back();
    heap.pop_back();
    Symbol& left = symbols[best.at];
    if (left.bytes == 0 || left.next == kNone) continue;
    Symbol& right = symbols[left.next];
    const MergePlace* merge = find_merge(left.id, right.id);
    if (merge == nullptr || merge->rank != best.rank) continue;  // its pieces have changed since
    left.id = merge->result;
    left.bytes += right.bytes;
    right.bytes = 0;
    left.next = right.next;
    if (left.next != kNone) symbols[left.next].previous = best.at;
    consider(left.previous);
    consider(best.at);
  }
  for (uint32_t at = count > 0 ? 0 : kNone; at != kNone; at = symbols[at].next) {
    scratch.ids.push_back(symbols[at].id);
    scratch.lengths.push_back(symbols[at].bytes);
  }
}

// Calls visit(part, id) for what lies between added tokens (id −1), and for those, in order. A token
// takes the blanks beside it as it says, but none that another one has taken.
template <class Visit>
void ByteBpe::each_part(std::string_view text, Visit visit) const {
  auto split = [&](auto& self, std::string_view piece, size_t group) -> void {
    if (piece.empty()) return;
    if (group == starts_.size()) return visit(piece, -1);
    size_t from = 0;
    for (size_t at = 0; at < piece.size();) {
      const auto& tokens = starts_[group][static_cast<unsigned char>(piece[at])];
      std::string_view rest = piece.substr(at);
      auto found = std::find_if(tokens.begin(), tokens.end(),
                                [&](const AddedToken* t) { return rest.starts_with(t->text); });
      if (found == tokens.end()) {
        ++at;
        continue;
      }
      const AddedToken& token = **found;
      size_t begin = at, end = at + token.text.size();
      at = end;
      if (token.strip_left) {
        begin = std::max(from, trailing_blanks(piece.substr(0, begin)));
      }
      if (token.strip_right) end = run_end(piece, end, WordKind::blank);
      self(self, piece.substr(from, begin - std::min(from, begin)), group + 1);
      visit(piece.substr(begin, end - begin), token.id);
      from = end;
    }
    if (from < piece.size()) self(self, piece.substr(from), group + 1);
  };
  split(split, text, 0);
}

template <class Visit>
void ByteBpe::each_word_of_part(std::string_view part, Visit visit) const {
  while (!part.empty()) {
    size_t bytes = std::min(byte_bpe_word_bytes(part), kLongestWord);
    visit(part.substr(0, bytes), part.size());
    part.remove_prefix(bytes);
  }
}

namespace {

// A part as its words are cut: with a blank in front where the rules want one that is not there.
std::string_view prefixed(std::string_view part, bool add_space, std::string& memory) {
  if (!add_space || part.starts_with(' ')) return part;
  memory.assign(1, ' ');
  memory += part;
  return memory;
}

}  // namespace

void ByteBpe::append_ids(std::string_view text, std::vector<int32_t>& ids) const {
  thread_local Scratch scratch;
  WordCache& cache = WordCache::of_thread();
  IdOutput out(ids);
  each_part(text, [&](std::string_view part, int32_t token) {
    if (token >= 0) return out.put(token);
    part = prefixed(part, rules_.add_prefix_space, scratch.prefixed);
    each_word_of_part(part, [&](std::string_view word, size_t readable) {
      if (word.size() > WordCache::kKeyBytes) {
        cut_word(word, scratch);
        return out.put(scratch.ids);
      }
      WordCache::Key key(word, readable);
      WordCache::Line& line = cache.line(key);
      if (line.serial != serial_ || !key.equals(line, word.size())) {
        cut_word(word, scratch);
        if (scratch.ids.size() > WordCache::kCachedIds) return out.put(scratch.ids);
        key.fill(line, word.size(), serial_, scratch.ids);
      }
      out.put(line);
    });
  });
  out.flush();
}

// Without the blanks of the piece. The library counts the first blank of a text as one that was put
// there, where some are (add_prefix_space).
void ByteBpe::trim(PieceSpan& span, bool prefixed) const {
  auto id = static_cast<size_t>(span.id);
  uint64_t before = blanks_before_[id], after = blanks_after_[id];
  if (prefixed || (before == 1 && rules_.add_prefix_space && span.begin == 0)) before = 0;
  before = std::min(before, span.end - span.begin);
  span.begin += before, span.byte_begin += before;
  after = std::min(after, span.end - span.begin);
  span.end -= after, span.byte_end -= after;
}

void ByteBpe::each_piece(std::string_view text,
                         const std::function<void(const PieceSpan&)>& visit) const {
  Scratch scratch;
  CodePoints begins(text), ends(text);
  auto place = [&](int32_t id, uint64_t from, uint64_t to) {
    return PieceSpan{id, begins.below(from), ends.above(to), from, to};
  };
  each_part(text, [&](std::string_view part, int32_t token) {
    if (token >= 0 && rules_.trim_offsets) {
      part.remove_prefix(run_end(part, 0, WordKind::blank));
      part = part.substr(0, trailing_blanks(part));
    }
    auto at = static_cast<uint64_t>(part.data() - text.data());
    if (token >= 0) return visit(place(token, at, at + part.size()));
    std::string_view cut = prefixed(part, rules_.add_prefix_space, scratch.prefixed);
    uint64_t added = cut.size() - part.size();  // bytes in front that are not in the text
    each_word_of_part(cut, [&](std::string_view word, size_t) {
      cut_word(word, scratch);
      for (size_t i = 0; i < scratch.ids.size(); ++i) {
        uint64_t length = scratch.lengths[i], gone = std::min(added, length);
        added -= gone;
        PieceSpan span = place(scratch.ids[i], at, at + length - gone);
        at += length - gone;
        if (rules_.trim_offsets) trim(span, gone > 0);
        visit(span);
      }
    });
  });
}

void ByteBpe::each_word(std::string_view text,
                        const std::function<void(const WordSpan&)>& visit) const {
  CodePoints points(text);
  each_part(text, [&](std::string_view part, int32_t token) {
    auto word = [&](std::string_view w, size_t) {
      auto from = static_cast<uint64_t>(w.data() - text.data());
      uint64_t begin = points.below(from);
      visit({std::string(w), begin, points.above(from + w.size()), from, from + w.size()});
    };
    if (token >= 0) return word(part, part.size());
    each_word_of_part(part, word);
  });
}

}  // namespace bertrain
