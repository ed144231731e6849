// Truncation and special tokens as run_classifier.py has them.
#include "task/pair_input.h"

#include <algorithm>

#include "base/error.h"

namespace bertrain {

PairEncoder::PairEncoder(const Tokenizer& tokenizer, int64_t max_seq_length, bool pairs)
    : tokenizer_(tokenizer),
      max_length_(static_cast<size_t>(std::max<int64_t>(max_seq_length, 0))),
      separators_(static_cast<size_t>(tokenizer.special().separators_between)),
      classify_(tokenizer.vocabulary().id(tokenizer.special().classify)),
      separate_(tokenizer.vocabulary().id(tokenizer.special().separate)) {
  int64_t least = least_length(tokenizer.special(), pairs);
  if (max_seq_length < least) {
    throw usage_error("--max_seq_length={}: {} needs {} at least, for {}, {} and a piece each",
                      max_seq_length, pairs ? "a pair of texts" : "a text", least,
                      tokenizer.special().classify, tokenizer.special().separate);
  }
}

PairInput PairEncoder::encode(std::string_view a, std::string_view b) const {
  std::vector<int32_t> second;
  if (!b.empty()) tokenizer_.append_ids(b, second);
  PairInput input;
  input.ids.push_back(classify_);
  tokenizer_.append_ids(a, input.ids);
  size_t m = input.ids.size() - 1, n = second.size();
  Kept fits = kept(m, n);
  input.pieces = m + n;
  input.cut = m + n - fits.a - fits.b;
  input.ids.resize(fits.a + 1);
  close(input, std::span(second).first(fits.b));
  return input;
}

std::vector<int32_t> PairEncoder::pieces(std::string_view text) const {
  std::vector<int32_t> ids;
  if (!text.empty()) tokenizer_.append_ids(text, ids);
  return ids;
}

PairEncoder::Kept PairEncoder::kept(size_t a, size_t b) const {
  size_t room = max_length_ - (b == 0 ? 2 : 2 + separators_);
  if (b == 0) return {std::min(a, room), 0};
  if (a + b <= room) return {a, b};
  // What popping one piece at a time comes to: both end at half the room, A with the odd piece,
  // unless one is short enough to stay whole.
  if (b <= room / 2) return {room - b, b};
  if (a <= room - room / 2) return {a, room - a};
  return {room - room / 2, room / 2};
}

PairInput PairEncoder::join(std::span<const int32_t> a, std::span<const int32_t> b) const {
  PairInput input;
  input.ids.reserve(a.size() + b.size() + 2 + separators_);
  input.ids.push_back(classify_);
  input.ids.insert(input.ids.end(), a.begin(), a.end());
  close(input, b);
  check(input.ids.size() <= max_length_, "texts that were made to fit");
  input.pieces = a.size() + b.size();
  return input;
}

void PairEncoder::close(PairInput& input, std::span<const int32_t> b) const {
  std::vector<int32_t>& ids = input.ids;
  ids.push_back(separate_);
  input.first = static_cast<uint32_t>(ids.size());
  if (!b.empty()) {
    ids.insert(ids.end(), separators_ - 1, separate_);
    ids.insert(ids.end(), b.begin(), b.end());
    ids.push_back(separate_);
  }
  if (tokenizer_.special().segments == 1) input.first = static_cast<uint32_t>(ids.size());
}

void add_input(Example& example, const int32_t* ids, size_t length, size_t first) {
  example["input_ids"] = std::vector<int64_t>(ids, ids + length);
  std::vector<int64_t> segments(length);
  std::fill(segments.begin() + static_cast<int64_t>(first), segments.end(), 1);
  example["segment_ids"] = std::move(segments);
}

}  // namespace bertrain
