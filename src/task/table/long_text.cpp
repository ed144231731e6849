// Which pieces of a long text are read, and lengths by their number.
#include "task/table/long_text.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/error.h"

namespace bertrain {
namespace {

constexpr std::pair<std::string_view, LongText> kNames[] = {
    {"head", LongText::head}, {"head_tail", LongText::head_tail}, {"windows", LongText::windows}};

// The first quarter of `kept` pieces from the beginning, the others from the end.
void keep_head_and_tail(std::vector<int32_t>& pieces, size_t kept) {
  if (pieces.size() <= kept) return;
  auto head = static_cast<int64_t>((kept + 3) / 4);
  auto left_out = static_cast<int64_t>(pieces.size() - kept);
  pieces.erase(pieces.begin() + head, pieces.begin() + head + left_out);
}

}  // namespace

std::optional<LongText> find_long_text(std::string_view name) {
  for (const auto& [known, how] : kNames) {
    if (known == name) return how;
  }
  return std::nullopt;
}

std::string_view name_of(LongText how) {
  for (const auto& [name, known] : kNames) {
    if (known == how) return name;
  }
  return "";
}

LongTextEncoder::LongTextEncoder(const Tokenizer& tokenizer, int64_t max_seq_length, bool pairs,
                                 LongText how, int64_t stride)
    : pairs_(tokenizer, max_seq_length, pairs), how_(how), stride_(static_cast<uint64_t>(stride)) {
  check(stride >= 0, "a stride");
}

uint64_t LongTextEncoder::widest() const {
  constexpr size_t kEndless = size_t{1} << 40;
  return pairs_.kept(kEndless, 0).a;
}

EncodedText LongTextEncoder::encode(std::string_view a, std::string_view b) const {
  EncodedText text;
  if (how_ == LongText::head) {
    text.inputs.push_back(pairs_.encode(a, b));
    const PairInput& input = text.inputs[0];
    text.cut = input.cut;
    text.pieces = input.pieces;
    return text;
  }
  Pieces first = pairs_.pieces(a), second = pairs_.pieces(b);
  uint64_t all = first.size() + second.size();
  PairEncoder::Kept kept = pairs_.kept(first.size(), second.size());
  if (how_ == LongText::windows && kept.a + kept.b < all) {
    text = windows(first, second);
  } else {
    keep_head_and_tail(first, kept.a);
    keep_head_and_tail(second, kept.b);
    text.cut = all - kept.a - kept.b;
    text.inputs.push_back(pairs_.join(first, second));
  }
  text.pieces = all;
  return text;
}

EncodedText LongTextEncoder::windows(const Pieces& a, const Pieces& b) const {
  bool a_is_long = a.size() > b.size();
  std::span<const int32_t> longer = a_is_long ? a : b, shorter = a_is_long ? b : a;
  // The shorter one has what it would have beside a text without end.
  PairEncoder::Kept beside = a_is_long ? pairs_.kept(a.size() + b.size(), b.size())
                                       : pairs_.kept(a.size(), a.size() + b.size());
  uint64_t width = a_is_long ? beside.a : beside.b;
  EncodedText text;
  text.cut = shorter.size() - (a_is_long ? beside.b : beside.a);
  shorter = shorter.first(shorter.size() - text.cut);
  uint64_t stride = std::min(width, stride_ > 0 ? stride_ : std::max<uint64_t>(1, width / 2));
  if (longer.size() / stride > kMostWindows) {
    throw error(
        "a text of {} pieces makes more than {} windows of {}, {} apart; a larger --doc_stride or "
        "--long_text=head_tail is expected for it",
        longer.size(), kMostWindows, width, stride);
  }
  for (uint64_t begin = 0;; begin += stride) {
    uint64_t length = std::min<uint64_t>(width, longer.size() - begin);
    std::span<const int32_t> part = longer.subspan(begin, length);
    text.inputs.push_back(a_is_long ? pairs_.join(part, shorter) : pairs_.join(shorter, part));
    if (begin + length == longer.size()) return text;
  }
}

void TextLengths::add(const EncodedText& text) {
  ++texts_;
  ++count_[text.pieces];
  cut_ += text.cut > 0;
  windowed_ += text.inputs.size() > 1;
  windows_ += text.inputs.size();
}

uint64_t TextLengths::percentile(int per_cent) const {
  uint64_t rank = (texts_ * static_cast<uint64_t>(per_cent) + 99) / 100, seen = 0;
  for (const auto& [pieces, count] : count_) {
    seen += count;
    if (seen >= rank) return pieces;
  }
  return 0;
}

std::string TextLengths::summary() const {
  auto share = [&](uint64_t part) {
    return 100.0 * static_cast<double>(part) / static_cast<double>(std::max<uint64_t>(texts_, 1));
  };
  std::string said;
  if (how_ == LongText::windows) {
    said = fmt::format("{} of {} texts ({:.1f} %) are longer than a window; all make {} windows",
                       windowed_, texts_, share(windowed_), windows_);
    if (cut_ > 0) said += fmt::format("; of {} pairs the shorter text was cut too", cut_);
  } else {
    said = fmt::format("{} of {} texts ({:.1f} %) were cut (--long_text={})", cut_, texts_,
                       share(cut_), name_of(how_));
  }
  return fmt::format(
      "{}; pieces a text: at most {} in 50 % of them, {} in 90 %, {} in 95 %, {} in 99 %, {} in "
      "the longest",
      said, percentile(50), percentile(90), percentile(95), percentile(99), percentile(100));
}

}  // namespace bertrain
