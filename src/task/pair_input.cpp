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
  std::vector<int32_t>& ids = input.ids;
  ids.push_back(classify_);
  tokenizer_.append_ids(a, ids);
  size_t m = ids.size() - 1, n = second.size();
  size_t pieces = m + n;
  size_t room = max_length_ - (second.empty() ? 2 : 2 + separators_);
  if (n == 0) {
    m = std::min(m, room);
  } else if (m + n > room) {
    // What popping one piece at a time comes to: both end at half the room, A with the odd piece,
    // unless one is short enough to stay whole.
    if (n <= room / 2) {
      m = room - n;
    } else if (m <= room - room / 2) {
      n = room - m;
    } else {
      m = room - room / 2;
      n = room / 2;
    }
  }
  input.cut = pieces - m - n;
  ids.resize(m + 1);
  ids.push_back(separate_);
  input.first = static_cast<uint32_t>(ids.size());
  if (n > 0) {
    ids.insert(ids.end(), separators_ - 1, separate_);
    ids.insert(ids.end(), second.begin(), second.begin() + static_cast<int64_t>(n));
    ids.push_back(separate_);
  }
  if (tokenizer_.special().segments == 1) input.first = static_cast<uint32_t>(ids.size());
  return input;
}

void add_input(Example& example, const int32_t* ids, size_t length, size_t first) {
  example["input_ids"] = std::vector<int64_t>(ids, ids + length);
  std::vector<int64_t> segments(length);
  std::fill(segments.begin() + static_cast<int64_t>(first), segments.end(), 1);
  example["segment_ids"] = std::move(segments);
}

}  // namespace bertrain
