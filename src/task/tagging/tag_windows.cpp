// Windows with what stands around their words.
#include "task/tagging/tag_windows.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace bertrain {

WordPieces::WordPieces(const Tokenizer& tokenizer, int64_t max_seq_length) : tokenizer_(tokenizer) {
  const SpecialTokens& special = tokenizer.special();
  if (max_seq_length < 3) {
    throw usage_error("--max_seq_length={}: 3 at least expected, for {}, a piece and {}",
                      max_seq_length, special.classify, special.separate);
  }
  room_ = static_cast<size_t>(max_seq_length) - 2;
  const Vocabulary& vocabulary = tokenizer.vocabulary();
  vocabulary.require({special.classify, special.separate, special.unknown});
  classify_ = vocabulary.id(special.classify);
  separate_ = vocabulary.id(special.separate);
  unknown_ = vocabulary.id(special.unknown);
}

std::vector<TagWindow> WordPieces::windows(const std::vector<std::string>& words) const {
  std::vector<int32_t> ids;
  std::vector<size_t> at = {0};  // word w has pieces [at[w], at[w + 1]) of ids
  for (const std::string& word : words) {
    if (tokenizer_.byte_bpe()) {
      tokenizer_.append_ids(" " + word, ids);
    } else {
      tokenizer_.append_ids(word, ids);
    }
    if (ids.size() == at.back()) ids.push_back(unknown_);
    ids.resize(std::min(ids.size(), at.back() + room_));
    at.push_back(ids.size());
  }
  const size_t context = room_ / 4, count = words.size();
  std::vector<TagWindow> all;
  size_t from = 0;  // tagged next
  do {
    // Back as far as the context allows and the word to tag still fits behind it.
    size_t begin = from, end = from, tagged = count;
    if (count > 0) {
      size_t back = std::min(context, room_ - (at[from + 1] - at[from]));
      while (begin > 0 && at[from] - at[begin - 1] <= back) --begin;
      end = from + 1;
      while (end < count && at[end + 1] - at[begin] <= room_) ++end;
      // The last words that are shown are tagged where they have more behind them.
      if (end < count) {
        tagged = end;
        while (tagged > from + 1 && at[end] - at[tagged - 1] <= context) --tagged;
      }
    }
    TagWindow window;
    window.first_word = static_cast<uint32_t>(from);
    window.ids.push_back(classify_);
    window.ids.insert(window.ids.end(), ids.begin() + static_cast<int64_t>(at[begin]),
                      ids.begin() + static_cast<int64_t>(at[end]));
    window.ids.push_back(separate_);
    for (size_t w = from; w < tagged; ++w) {
      window.positions.push_back(static_cast<uint32_t>(1 + at[w] - at[begin]));
    }
    all.push_back(std::move(window));
    from = tagged;
  } while (from < count);
  return all;
}

}  // namespace bertrain
