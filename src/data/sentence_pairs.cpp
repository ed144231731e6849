// Sentence pairs, draw for draw those of google-research/bert's create_instances_from_document.
#include "data/sentence_pairs.h"

#include <algorithm>

#include "base/error.h"

namespace bertrain {
namespace {

using Run = Documents::Run;

constexpr int kTries = 10;  // to find another document

class Pass {
 public:
  Pass(const Documents& documents, const std::vector<size_t>& order, size_t index,
       const PairOptions& options, PythonRandom& random, PairCounts& counts)
      : documents_(documents),
        order_(order),
        index_(index),
        document_(order[index]),
        random_(random),
        counts_(counts),
        max_tokens_(static_cast<uint64_t>(options.max_seq_length) - 3),
        target_(max_tokens_) {
    // Drawn once for the whole pass, not for each pair.
    if (random_.random() < options.short_seq_prob) {
      target_ = static_cast<uint64_t>(random_.randint(2, static_cast<int64_t>(max_tokens_)));
    }
  }

  void run(const std::function<void(const SentencePair&)>& take) {
    size_t sentences = documents_.sentences(document_);
    for (size_t first = 0; first < sentences;) {
      size_t last = chunk_end(first, sentences);
      std::optional<SentencePair> pair = make_pair(first, last);
      if (pair) {
        truncate(*pair);
        take(*pair);
      }
      first = next_;
    }
  }

 private:
  // The chunk [first, last) ends where it has target_ tokens, or with the document.
  size_t chunk_end(size_t first, size_t sentences) const {
    size_t last = first + 1;
    while (last < sentences && documents_.run(document_, first, last).size < target_) ++last;
    return last;
  }

  // Sets next_, the sentence that the next chunk begins with.
  std::optional<SentencePair> make_pair(size_t first, size_t last) {
    next_ = last;
    size_t count = last - first, split = first + 1;
    if (count >= 2)
      split = first + static_cast<size_t>(random_.randint(1, static_cast<int64_t>(count) - 1));
    SentencePair pair;
    pair.a = documents_.run(document_, first, split);
    pair.random_next = count == 1 || random_.random() < 0.5;
    if (!pair.random_next) {
      pair.b = documents_.run(document_, split, last);
      return pair;
    }
    Run b = draw_random_next(pair.a.size);
    if (order_.size() == 1) return pair_in_order(first, split, last);
    pair.b = b;
    next_ = split;  // sentences that were not used come again
    return pair;
  }

  Run draw_random_next(uint64_t a_size) {
    size_t other = 0;
    for (int i = 0; i < kTries; ++i) {
      other = random_.below(order_.size());
      if (other != index_) break;
    }
    size_t document = order_[other], sentences = documents_.sentences(document);
    size_t first = random_.below(sentences), last = first;
    uint64_t wanted = target_ > a_size ? target_ - a_size : 0;
    // At least one sentence is taken, even when A fills the target alone.
    do ++last;
    while (last < sentences && documents_.run(document, first, last).size < wanted);
    return documents_.run(document, first, last);
  }

  std::optional<SentencePair> pair_in_order(size_t first, size_t split, size_t last) {
    ++counts_.kept_in_order;
    SentencePair pair;
    pair.a = documents_.run(document_, first, split);
    pair.b = documents_.run(document_, split, last);
    if (pair.b.size > 0) return pair;
    if (pair.a.size < 2) {
      ++counts_.dropped;
      return std::nullopt;
    }
    if (pair.a.size > max_tokens_) {
      // Cut before it is parted, so that B still follows A.
      ++counts_.truncated;
      counts_.cut_tokens += pair.a.size - max_tokens_;
      pair.a.size = max_tokens_;
    }
    pair.b.size = pair.a.size / 2;
    pair.a.size -= pair.b.size;
    pair.b.begin = pair.a.begin + pair.a.size;
    return pair;
  }

  void truncate(SentencePair& pair) {
    if (pair.a.size + pair.b.size <= max_tokens_) return;
    ++counts_.truncated;
    counts_.cut_tokens += pair.a.size + pair.b.size - max_tokens_;
    while (pair.a.size + pair.b.size > max_tokens_) {
      Run& longer = pair.a.size > pair.b.size ? pair.a : pair.b;
      if (random_.random() < 0.5) ++longer.begin;
      --longer.size;
    }
  }

  const Documents& documents_;
  const std::vector<size_t>& order_;
  size_t index_, document_;
  PythonRandom& random_;
  PairCounts& counts_;
  uint64_t max_tokens_, target_;
  size_t next_ = 0;
};

}  // namespace

void make_sentence_pairs(const Documents& documents, const std::vector<size_t>& order, size_t index,
                         const PairOptions& options, PythonRandom& random, PairCounts& counts,
                         const std::function<void(const SentencePair&)>& take) {
  check(options.max_seq_length >= 5, "a pair and its specials need 5 tokens");
  Pass(documents, order, index, options, random, counts).run(take);
}

}  // namespace bertrain
