// All passes over all documents with one generator, and the final shuffle.
#include "data/instances.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "base/error.h"
#include "base/log.h"
#include "base/machine.h"

namespace bertrain {
namespace {

constexpr size_t kTold = 1 << 14;  // instances between two checks: some MiB

// What a vector holds besides while it grows by some.
template <class T>
uint64_t growth(const std::vector<T>& all, size_t more) {
  return all.size() + more > all.capacity() ? (all.size() + more) * sizeof(T) : 0;
}

}  // namespace

Instances::Instances(const Documents& documents, const Vocabulary& vocabulary,
                     const InstanceOptions& options, const NeedsCheck& needs_check)
    : documents_(documents),
      random_(options.random_seed),
      masker_(MaskingVocabulary(vocabulary), options.masking) {
  std::vector<size_t> order(documents.size());
  std::iota(order.begin(), order.end(), size_t{0});
  random_.shuffle(order);
  std::vector<int32_t> tokens;
  auto take = [&](const SentencePair& pair) {
    assemble(pair.a, pair.b, tokens);
    size_t before = masked_.size();
    bool words = masker_.mask(tokens, random_, masked_);
    instances_.push_back({pair.a.begin, pair.b.begin, static_cast<uint32_t>(pair.a.size),
                          static_cast<uint32_t>(pair.b.size), masked_.size(), pair.random_next});
    counts_.random_next += pair.random_next;
    counts_.without_mask += masked_.size() == before;
    counts_.without_words += !words;
  };
  auto shown = std::chrono::steady_clock::now();
  size_t told = 0;
  for (int64_t pass = 1; pass <= options.dupe_factor; ++pass) {
    for (size_t d = 0; d < order.size(); ++d) {
      make_sentence_pairs(documents, order, d, options.pairs, random_, counts_.pairs, take);
      if (needs_check && instances_.size() >= told + kTold) {
        told = instances_.size();
        tell_needs(0, needs_check);
      }
      auto now = std::chrono::steady_clock::now();
      if (now - shown < std::chrono::seconds(10)) continue;
      shown = now;
      log_line("pass {} of {}: {} instances", pass, options.dupe_factor, instances_.size());
    }
    if (pass > 1) continue;
    int64_t left = options.dupe_factor - 1;
    if (needs_check) tell_needs(left, needs_check);
    // The other passes make about as many, so that nothing need move any more.
    auto all_of = [&](size_t first) {
      return first + (first + first / 32) * static_cast<size_t>(left);
    };
    instances_.reserve(all_of(instances_.size()));
    masked_.reserve(all_of(masked_.size()));
  }
  counts_.instances = instances_.size();
  counts_.masked = masked_.size();
  order_.resize(instances_.size());
  std::iota(order_.begin(), order_.end(), size_t{0});
  random_.shuffle(order_);
}

void Instances::tell_needs(int64_t passes_left, const NeedsCheck& needs_check) const {
  auto left = static_cast<uint64_t>(passes_left);
  uint64_t instances = instances_.size() * (left + 1);
  uint64_t bytes = resident_memory() + instances * sizeof(size_t);
  if (left > 0) {
    bytes += left * (instances_.size() * sizeof(Instance) + masked_.size() * sizeof(MaskedToken));
  } else {
    bytes += growth(instances_, kTold) +
             growth(masked_, masked_.size() / std::max<size_t>(instances_.size(), 1) * kTold);
  }
  needs_check({documents_.total_tokens(), instances, bytes});
}

CorpusNeeds Instances::needs(const CorpusSample& sample, const Vocabulary& vocabulary,
                             InstanceOptions options) {
  // Vectors grow by doubling: what they hold at most lies between their size and twice that. Those
  // of instances are large enough after the first pass.
  constexpr double kGrowth = 1.5;
  const Documents& documents = sample.documents;
  if (documents.size() == 0) return {};
  double passes = sample.times * static_cast<double>(options.dupe_factor);
  options.dupe_factor = 1;
  InstanceCounts made = Instances(documents, vocabulary, options).counts();
  double tokens = sample.times * static_cast<double>(documents.total_tokens());
  double instances = passes * static_cast<double>(made.instances);
  double texts = tokens * sizeof(int32_t) +
                 sample.times * sizeof(uint64_t) *
                     static_cast<double>(documents.total_sentences() + documents.size());
  double bytes = kGrowth * texts + instances * (sizeof(Instance) + sizeof(size_t)) +
                 passes * static_cast<double>(made.masked) * sizeof(MaskedToken);
  // Beyond the largest number there is no use in being exact.
  auto whole = [](double x) { return static_cast<uint64_t>(std::min(x, 0x1p62)); };
  return {whole(tokens), whole(instances), whole(bytes)};
}

void Instances::assemble(Documents::Run a, Documents::Run b, std::vector<int32_t>& tokens) const {
  std::span<const int32_t> first = documents_.tokens(a), second = documents_.tokens(b);
  tokens.clear();
  tokens.push_back(masker_.vocabulary().classify);
  tokens.insert(tokens.end(), first.begin(), first.end());
  tokens.push_back(masker_.vocabulary().separate);
  tokens.insert(tokens.end(), second.begin(), second.end());
  tokens.push_back(masker_.vocabulary().separate);
}

Instances::View Instances::view(size_t index, std::vector<int32_t>& tokens) const {
  size_t made = order_.at(index);
  const Instance& i = instances_[made];
  assemble({i.a_begin, i.a_size}, {i.b_begin, i.b_size}, tokens);
  uint64_t begin = made == 0 ? 0 : instances_[made - 1].masked_end;
  std::span<const MaskedToken> masked(masked_.data() + begin, i.masked_end - begin);
  return {i.a_size, i.b_size, i.random_next, masked};
}

}  // namespace bertrain
