// Candidates of all windows in one list; the order of equal ones is the reference's, where sorting is
// stable.
#include "task/squad/squad_answers.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <unordered_set>

#include "base/error.h"
#include "base/quote.h"
#include "task/squad/final_text.h"

namespace bertrain {
namespace {

// Positions of the largest logits, larger first, of equal ones the earlier first.
std::vector<size_t> best_positions(std::span<const float> logits, int64_t count) {
  std::vector<size_t> order(logits.size());
  std::iota(order.begin(), order.end(), size_t{0});
  auto kept = std::min<int64_t>(count, std::ssize(order));
  std::partial_sort(order.begin(), order.begin() + kept, order.end(), [&](size_t a, size_t b) {
    return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
  });
  order.resize(static_cast<size_t>(kept));
  return order;
}

bool finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
}

// The window's null score is a sum of two doubles in the reference, too.
double null_score(const SpanLogits& logits) { return double{logits.start[0]} + logits.end[0]; }

void set_probabilities(std::vector<SquadCandidate>& list) {
  double most = list.front().start_logit + list.front().end_logit, sum = 0;
  for (const SquadCandidate& c : list) most = std::max(most, c.start_logit + c.end_logit);
  for (SquadCandidate& c : list)
    sum += c.probability = std::exp(c.start_logit + c.end_logit - most);
  for (SquadCandidate& c : list) c.probability /= sum;
}

}  // namespace

// A candidate: positions in a window, inclusive; 0, 0 is "no answer".
struct SquadAnswers::Span {
  size_t window, first, last;
  double start, end;  // logits
  double score() const { return start + end; }
};

SquadAnswers::SquadAnswers(const SquadFeatures& features, const Tokenizer& tokenizer,
                           const SquadAnswerOptions& options)
    : features_(features), tokenizer_(tokenizer), options_(options) {
  for (auto [name, value] : {std::pair("n_best_size", options.n_best_size),
                             std::pair("max_answer_length", options.max_answer_length)}) {
    if (value < 1) throw usage_error("--{}={}: 1 at least expected", name, value);
  }
  if (std::isnan(options.null_score_diff_threshold)) {
    throw usage_error("--null_score_diff_threshold: a number expected");
  }
}

std::vector<SquadAnswers::Span> SquadAnswers::spans_of_best(
    std::span<const SquadFeature> windows, std::span<const SpanLogits> logits) const {
  std::vector<Span> spans;
  for (size_t w = 0; w < windows.size(); ++w) {
    const SquadFeature& window = windows[w];
    size_t past = window.first + window.word.size();
    auto is_text = [&](size_t position) { return position >= window.first && position < past; };
    std::vector<size_t> ends = best_positions(logits[w].end, options_.n_best_size);
    for (size_t first : best_positions(logits[w].start, options_.n_best_size)) {
      if (!is_text(first) || !window.is_max_context[first - window.first]) continue;
      for (size_t last : ends) {
        if (!is_text(last) || last < first) continue;
        if (last - first >= static_cast<size_t>(options_.max_answer_length)) continue;
        spans.push_back({w, first, last, logits[w].start[first], logits[w].end[last]});
      }
    }
  }
  return spans;
}

std::vector<SquadAnswers::Span> SquadAnswers::best_span_of_all(
    std::span<const SquadFeature> windows, std::span<const SpanLogits> logits) const {
  std::optional<Span> best;
  for (size_t w = 0; w < windows.size(); ++w) {
    const SquadFeature& window = windows[w];
    size_t past = window.first + window.word.size();
    auto longest = static_cast<size_t>(options_.max_answer_length);
    for (size_t first = window.first; first < past; ++first) {
      if (!window.is_max_context[first - window.first]) continue;
      for (size_t last = first; last < past && last - first < longest; ++last) {
        Span span{w, first, last, logits[w].start[first], logits[w].end[last]};
        if (!best || span.score() > best->score()) best = span;
      }
    }
  }
  return best ? std::vector{*best} : std::vector<Span>{};
}

std::string SquadAnswers::text_of(const SquadFeature& window, const Span& span) const {
  std::string pieces;
  for (size_t position = span.first; position <= span.last; ++position) {
    if (position > span.first) pieces += ' ';
    pieces += tokenizer_.vocabulary().token(window.input_ids[position]);
  }
  const SquadData& data = features_.data();
  const SquadContext& context = data.contexts[data.questions[window.question].context];
  std::string original =
      context.joined(window.word[span.first - window.first], window.word[span.last - window.first]);
  return final_text(joined_pieces(pieces), original, tokenizer_);
}

SquadPrediction SquadAnswers::answer(uint64_t question, std::span<const SpanLogits> logits) const {
  uint64_t begin = features_.windows_before(question), end = features_.windows_before(question + 1);
  check(logits.size() == end - begin, "a pair of logits for each window of the question");
  std::vector<SquadFeature> windows;
  for (uint64_t i = begin; i < end; ++i) windows.push_back(features_.feature(i));
  for (size_t w = 0; w < windows.size(); ++w) {
    check(logits[w].start.size() >= windows[w].input_ids.size() &&
              logits[w].end.size() == logits[w].start.size(),
          "a start and an end logit for each token of a window");
    if (!finite(logits[w].start) || !finite(logits[w].end)) {
      throw error("question {}: the model's logits are not finite; there is no answer in them",
                  quote(features_.data().questions[question].id));
    }
  }

  bool negative = options_.version_2_with_negative;
  std::vector<Span> spans = spans_of_best(windows, logits);
  if (spans.empty() && !negative) spans = best_span_of_all(windows, logits);
  Span null{0, 0, 0, 0, 0};
  double null_logits = kCertainlyNull;  // the smallest of the windows
  for (size_t w = 0; negative && w < windows.size(); ++w) {
    if (w > 0 && null_score(logits[w]) >= null_logits) continue;
    null_logits = null_score(logits[w]);
    null = {w, 0, 0, logits[w].start[0], logits[w].end[0]};
  }
  if (negative) spans.push_back(null);
  std::stable_sort(spans.begin(), spans.end(),
                   [](const Span& a, const Span& b) { return a.score() > b.score(); });

  SquadPrediction prediction;
  std::unordered_set<std::string> seen;
  for (const Span& span : spans) {
    if (std::ssize(prediction.n_best) >= options_.n_best_size) break;
    std::string text = span.first > 0 ? text_of(windows[span.window], span) : "";
    bool is_new = seen.insert(text).second;
    if (!is_new && span.first > 0) continue;
    prediction.n_best.push_back({std::move(text), 0, span.start, span.end});
  }
  // 1.1 without any text to answer from has no other answer than "".
  if (prediction.n_best.empty() || (negative && !seen.contains(""))) {
    prediction.n_best.push_back({"", 0, null.start, null.end});
  }
  set_probabilities(prediction.n_best);

  if (!negative) {
    prediction.text = prediction.n_best.front().text;
    return prediction;
  }
  prediction.null_odds = null_logits;
  for (const SquadCandidate& best : prediction.n_best) {
    if (best.text.empty()) continue;
    prediction.null_odds = null_logits - best.start_logit - best.end_logit;
    if (prediction.null_odds <= options_.null_score_diff_threshold) prediction.text = best.text;
    break;
  }
  return prediction;
}

}  // namespace bertrain
