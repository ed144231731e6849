// Questions and contexts as what a model reads: windows of a context behind the question, as
// run_squad.py cuts them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "task/squad/squad_data.h"
#include "text/tokenizer.h"

namespace bertrain {

struct SquadFeatureOptions {
  int64_t max_seq_length =
      384;                   // tokens of a window: [CLS] question [SEP] part of the context [SEP]
  int64_t doc_stride = 128;  // pieces from one window's start to the next one's, at most
  int64_t max_query_length = 64;  // pieces of a question; the others are cut off
};

inline constexpr int64_t kFirstUniqueId = 1'000'000'000;  // of window 0 of a file

// One window, without padding.
struct SquadFeature {
  int64_t unique_id;               // kFirstUniqueId + number of the window in the file
  uint64_t question;               // index in SquadData::questions
  uint64_t window;                 // of this question, from 0
  std::vector<int32_t> input_ids;  // [S]
  // Tokens of segment 0, [CLS] question [SEP]; the others are of segment 1. Also the position of the
  // first piece of the context.
  size_t first = 0;
  // Of the pieces of the context, positions first … first + size() - 1:
  std::vector<uint32_t> word;           // of the context, that the piece is part of
  std::vector<uint8_t> is_max_context;  // no other window shows it with more around it
  // Training: positions of the answer's pieces, both inclusive; 0, 0 where this window does not hold
  // all of it, or the question is impossible. Otherwise always 0, 0.
  int64_t start_position = 0, end_position = 0;
  bool is_impossible = false;  // of the question
};

// All windows of a file, in its order. Tokenizes on construction, each context once, with all
// threads of the loops; keeps 8 bytes a piece of a context and 4 a piece of a question, and makes a
// window when it is asked for. Safe from many threads.
class SquadFeatures {
 public:
  // `training`: finds the answers' positions; the data were read for training. Throws a usage error
  // for lengths that leave no room for a context (max_seq_length > max_query_length + 3 is needed),
  // a stride below 1, or a vocabulary that is not WordPiece.
  SquadFeatures(std::shared_ptr<const SquadData> data, const Tokenizer& tokenizer,
                const SquadFeatureOptions& options, bool training);

  const SquadData& data() const { return *data_; }
  const SquadFeatureOptions& options() const { return options_; }
  uint64_t size() const { return first_window_.back(); }  // windows
  // Windows [windows_before(q), windows_before(q + 1)) are question q's; none where its context has
  // no pieces.
  uint64_t windows_before(uint64_t question) const { return first_window_[question]; }
  SquadFeature feature(uint64_t window) const;

  // What the log is told by report(): windows and lengths, and as warnings what was lost.
  uint64_t cut_questions = 0;    // longer than max_query_length
  uint64_t without_windows = 0;  // questions on a context without any piece
  // Training: questions whose answer is in no window whole, and so learn "no answer"; and those left
  // out because their answer's words have no pieces at all.
  uint64_t split_answers = 0, vanished_answers = 0;
  void report() const;

 private:
  struct Context {
    std::vector<int32_t> ids;
    std::vector<uint32_t> word;         // by piece
    std::vector<uint32_t> first_piece;  // by word
  };
  struct Question {
    std::vector<int32_t> ids;
    int64_t answer_begin = -1, answer_end = -1;  // pieces of the context, inclusive
  };
  struct Span {
    uint64_t begin, length;
  };
  void tokenize(const Tokenizer& tokenizer);
  void ask(const Tokenizer& tokenizer, bool training);
  bool find_answer(const Tokenizer& tokenizer, const SquadQuestion& source, Question& question);
  uint64_t room(const Question& question) const;  // pieces of the context in a window
  uint64_t step(const Question& question) const;  // from window to window
  uint64_t window_count(uint64_t question) const;
  Span span(uint64_t question, uint64_t window) const;
  bool is_split(uint64_t question) const;
  void mark_max_context(uint64_t question, SquadFeature& feature) const;

  std::shared_ptr<const SquadData> data_;
  SquadFeatureOptions options_;
  int32_t classify_, separate_;
  std::vector<Context> contexts_;
  std::vector<Question> questions_;
  std::vector<uint64_t> first_window_;
};

// A window as the reference's records have it: zeros up to max_seq_length.
struct PaddedSquadFeature {
  std::vector<int64_t> input_ids, input_mask, segment_ids;  // [max_seq_length]
};
PaddedSquadFeature pad(const SquadFeature& feature, int64_t max_seq_length);

}  // namespace bertrain
