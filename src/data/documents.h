// A corpus in memory: documents of sentences of tokens, and its reading from text.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"
#include "text/unicode.h"

namespace bertrain {

// Token ids of all documents in one block; a document is a run of sentences, a sentence a run of tokens. No document
// and no sentence is empty.
class Documents {
 public:
  // to the present document; an empty one adds nothing
  void add_sentence(std::span<const int32_t> tokens);
  void end_document();  // the next sentence begins another one, if this has any

  size_t size() const { return document_ends_.size(); }  // ended documents
  size_t sentences(size_t document) const {
    return document_ends_[document] - first_sentence(document);
  }
  bool is_open() const;  // sentences were added since the last end
  uint64_t total_sentences() const { return sentence_ends_.size(); }
  uint64_t total_tokens() const { return tokens_.size(); }

  // Where the tokens of a document's sentences [first, last) lie in tokens(): they are one run.
  struct Run {
    uint64_t begin = 0, size = 0;
  };
  Run run(size_t document, size_t first, size_t last) const;
  std::span<const int32_t> tokens(Run r) const { return {tokens_.data() + r.begin, r.size}; }

  // The bytes that are held besides while so much is added: vectors move to twice their size.
  uint64_t growth(uint64_t tokens, uint64_t sentences) const;

 private:
  size_t first_sentence(size_t document) const {
    return document == 0 ? 0 : document_ends_[document - 1];
  }
  std::vector<int32_t> tokens_;
  std::vector<uint64_t> sentence_ends_;  // in tokens_
  std::vector<size_t> document_ends_;    // in sentence_ends_
};

struct CorpusCounts {
  uint64_t files = 0, lines = 0, bytes = 0;
  uint64_t repaired = 0;        // lines with invalid UTF-8 that was replaced or left out
  uint64_t without_tokens = 0;  // lines that are not blank but hold nothing that makes a token
};

// What a whole corpus comes to, as far as is known or nearly. `bytes` are those of its documents and
// instances in memory, or, where a NeedsCheck hears them, all that the process holds.
struct CorpusNeeds {
  uint64_t tokens = 0, instances = 0, bytes = 0;
};

// Is told now and then what the work needs at least, and throws if that is too much.
using NeedsCheck = std::function<void(const CorpusNeeds&)>;

// Reads texts of one sentence a line with blank lines between documents (google-research/bert's input), tokenizing on
// all cores; the result does not depend on how many. A document goes on from one file into the next unless a blank line
// parts them, which is warned of. Throws Error for invalid UTF-8 ("FILE:LINE: ...") if told to.
Documents read_documents(const std::vector<std::string>& uris, const Tokenizer& tokenizer,
                         InvalidUtf8 invalid_utf8, CorpusCounts& counts,
                         const NeedsCheck& needs_check = {});

// The beginnings of some of the files, a few MiB in all, and how many times as much all of them hold: by their sizes, and
// for gzip by three times that, as text is packed. Bytes that are not UTF-8 are left out. nullopt: one of them
// can be read once only.
struct CorpusSample {
  Documents documents;
  double times = 1;
};
std::optional<CorpusSample> sample_documents(const std::vector<std::string>& uris,
                                             const Tokenizer& tokenizer);

}  // namespace bertrain
