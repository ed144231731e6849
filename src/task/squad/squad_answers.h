// From the logits of a question's windows to its answer, the n best ones, and how sure "no answer" is.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "task/squad/squad_features.h"
#include "text/tokenizer.h"

namespace bertrain {

struct SquadAnswerOptions {
  int64_t n_best_size = 20;              // answers in the list, and positions of a window looked at
  int64_t max_answer_length = 30;        // pieces
  bool version_2_with_negative = false;  // "" is an answer
  // 2.0: "" is given where null score - best other score is greater.
  double null_score_diff_threshold = 0;
};

// Of one window. At least as many as its tokens; what stands behind them is padding, which the
// reference ranks too, but never takes.
struct SpanLogits {
  std::span<const float> start, end;
};

struct SquadCandidate {
  std::string text;        // "": no answer
  double probability = 0;  // softmax of start + end logit over the list
  double start_logit = 0, end_logit = 0;
};

struct SquadPrediction {
  std::string text;
  std::vector<SquadCandidate>
      n_best;  // best first; 2.0: "" is always among them, at the end if nowhere else
  // 2.0: null score - score of the best other answer; the null score itself where there is no other.
  double null_odds = 0;
};

// The null score of a question without any window: sure to be above every threshold.
inline constexpr double kCertainlyNull = 1'000'000;

// run_squad.py's rules (write_predictions). Where the reference fails: without any window the answer is
// ""; where no pair of the best positions is a span, 2.0 gives "" and 1.1 the best span of all.
// Safe from many threads.
class SquadAnswers {
 public:
  // Throws a usage error for options out of range. Features and tokenizer outlive it.
  SquadAnswers(const SquadFeatures& features, const Tokenizer& tokenizer,
               const SquadAnswerOptions& options);

  // `logits`: of the question's windows, in order. Throws Error for logits that are not finite,
  // naming the question.
  SquadPrediction answer(uint64_t question, std::span<const SpanLogits> logits) const;

 private:
  struct Span;
  std::vector<Span> spans_of_best(std::span<const SquadFeature> windows,
                                  std::span<const SpanLogits> logits) const;
  std::vector<Span> best_span_of_all(std::span<const SquadFeature> windows,
                                     std::span<const SpanLogits> logits) const;
  std::string text_of(const SquadFeature& window, const Span& span) const;

  const SquadFeatures& features_;
  const Tokenizer& tokenizer_;
  SquadAnswerOptions options_;
};

}  // namespace bertrain
