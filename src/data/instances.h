// The pre-training examples of a corpus, in the order of the reference: as places in the corpus, not as copies of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/documents.h"
#include "data/masking.h"
#include "data/sentence_pairs.h"

namespace bertrain {

struct InstanceOptions {
  PairOptions pairs;
  MaskingOptions masking;
  int64_t random_seed = 12345;
  int64_t dupe_factor = 10;  // passes over every document, each with other pairs and masks
};

struct InstanceCounts {
  uint64_t instances = 0, random_next = 0, masked = 0;
  uint64_t without_mask = 0;   // instances in which nothing could be masked
  uint64_t without_words = 0;  // those of them that hold nothing but [CLS] and [SEP]
  PairCounts pairs;
};

// All instances of a corpus. One takes about 40 bytes and 8 for each masked token, so that a corpus fits that would not
// if every pass over it were copied.
class Instances {
 public:
  // Draws everything from one generator in the reference's order, so equal seeds give equal instances as
  // google-research/bert's create_pretraining_data under Python 3. The documents must stay as long as this.
  // `needs_check` hears what is held as it grows, and after the first pass what all passes come to.
  Instances(const Documents& documents, const Vocabulary& vocabulary,
            const InstanceOptions& options, const NeedsCheck& needs_check = {});

  // The needs of the corpus that the sample is of; of a sample without text none.
  static CorpusNeeds needs(const CorpusSample& sample, const Vocabulary& vocabulary,
                           InstanceOptions options);

  size_t size() const { return order_.size(); }
  const InstanceCounts& counts() const { return counts_; }
  double next_random() {
    return random_.random();
  }  // the generator's next number: what tests compare

  // One instance in the final order. `tokens` is filled with [CLS] A [SEP] B [SEP] before masking.
  struct View {
    size_t a_size = 0, b_size = 0;
    bool random_next = false;
    std::span<const MaskedToken> masked;
  };
  View view(size_t index, std::vector<int32_t>& tokens) const;

 private:
  struct Instance {
    uint64_t a_begin, b_begin;
    uint32_t a_size, b_size;  // at most max_seq_length
    uint64_t masked_end;      // in masked_; it begins where the instance made before ends
    bool random_next;
  };
  void tell_needs(int64_t passes_left, const NeedsCheck& needs_check) const;
  void assemble(Documents::Run a, Documents::Run b, std::vector<int32_t>& tokens) const;
  const Documents& documents_;
  PythonRandom random_;
  Masker masker_;
  std::vector<Instance> instances_;  // in the order they were made
  std::vector<MaskedToken> masked_;
  std::vector<size_t> order_;
  InstanceCounts counts_;
};

}  // namespace bertrain
