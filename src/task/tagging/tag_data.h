// Tagged sentences in memory for training and scoring, and sentences to predict as they are read.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "data/streams.h"
#include "task/labels.h"
#include "task/tagging/conll.h"
#include "task/tagging/tag_windows.h"

namespace bertrain {

// 4 bytes a piece, 8 a word. Sentences without words are left out.
class TagData {
 public:
  explicit TagData(std::string name) : name_(std::move(name)) {}

  void add(const std::vector<TagWindow>& windows, const ConllSentence& sentence);
  // What tags are from here on. Some that are not among them are warned of, where `may_be_unknown`, else
  // they are an Error; so they are if none is known.
  void set_labels(std::shared_ptr<const Labels> labels, bool may_be_unknown);

  uint64_t size() const { return windows_.size(); }
  uint64_t sentences() const { return line_.size(); }
  uint64_t words() const { return tags_.size(); }
  const std::vector<std::string>& tags() const { return found_.names; }  // distinct, as first seen
  std::string place(int64_t sentence) const;                             // "FILE:LINE"
  // A window: input_ids, segment_ids, target_positions, tags, tag_weights, row (the sentence), and with
  // `notes` what Rows need: tagged, gold.
  Example example(uint64_t window, bool notes) const;
  void report() const;  // logs sentences, words, lengths
  void report_tags()
      const;  // logs how tags are spread: what a model scores that learnt nothing else

 private:
  struct Window {
    uint64_t ids_end, words_end;  // in ids_, and in tags_ and positions_
    uint32_t sentence, first_word;
  };
  struct Found {
    std::vector<std::string> names;
    std::vector<uint64_t> line, count;  // first seen in, how often
    Named<uint32_t> number;
  };

  std::string name_;  // the file
  std::vector<int32_t> ids_;
  std::vector<uint32_t> tags_, positions_;  // by word; tags_: numbers of found_
  std::vector<Window> windows_;
  std::vector<uint64_t> line_, words_;  // by sentence: of its first word, how many
  Found found_;
  std::vector<int64_t> label_of_;  // by number of found_; −1: not known
  uint64_t cut_ = 0;
};

ExampleStream stream(std::shared_ptr<const TagData> data, bool notes);

// Reads all sentences, or the first `most` with words where that is not 0, tokenizing on all cores, and
// hands each to `take` in order.
void load_sentences(
    ConllReader& reader, const WordPieces& pieces, int64_t most,
    const std::function<void(const std::vector<TagWindow>&, const ConllSentence&)>& take);

// Examples of a file to predict, as they are asked for; of a pipe (`one_by_one`) no more is read than
// the next sentence. Their notes hold all that writes the file again. What was noticed is logged at the
// end, once in all streams that share `told`.
ExampleStream stream_sentences(std::string uri, const ConllColumns& columns, InvalidUtf8 invalid,
                               std::shared_ptr<const WordPieces> pieces,
                               std::shared_ptr<const Labels> labels, std::shared_ptr<ToldOnce> told,
                               bool one_by_one);

}  // namespace bertrain
