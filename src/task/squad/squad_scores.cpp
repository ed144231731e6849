// Sums in the scripts' order, so that the last digit is theirs, too.
#include "task/squad/squad_scores.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "base/quote.h"

namespace bertrain {
namespace {

// Says which questions have no prediction, and which predictions no question.
void report(const SquadData& data, const AnswersById& predictions) {
  std::vector<std::string> missing;
  ById<bool> asked;
  for (const SquadQuestion& question : data.questions) {
    asked.put(question.id, true);
    if (!predictions.find(question.id)) missing.push_back(question.id);
  }
  if (!missing.empty()) {
    log_warning("{}: {} of {} questions have no prediction and score 0: {}", data.name,
                missing.size(), data.questions.size(), quote_list(missing));
  }
  auto strange = std::count_if(predictions.items().begin(), predictions.items().end(),
                               [&](const auto& item) { return !asked.find(item.first); });
  if (strange > 0) {
    log_warning("{} of {} predictions are of no question of {}", strange, predictions.size(),
                data.name);
  }
}

// Of one question, 0 … 1, the best over its answers.
struct Score {
  double exact = 0, f1 = 0;
};

Score best_of(std::span<const NormalizedAnswer> golds, const NormalizedAnswer& predicted,
              ScoreUnit unit, bool empty_agrees) {
  Score best;
  for (const NormalizedAnswer& gold : golds) {
    bool same = gold.text == predicted.text;
    best.exact = std::max(best.exact, same ? 1.0 : 0.0);
    // 2.0: "" is right where it is right, and nothing else is anything like it.
    bool empty = gold.words.empty() || predicted.words.empty();
    double f1 = empty_agrees && empty ? (same ? 1.0 : 0.0) : answer_f1(gold, predicted, unit);
    best.f1 = std::max(best.f1, f1);
  }
  return best;
}

struct Judged {
  std::optional<Score> score;  // none: no prediction
  bool has_answer = false, says_something = false;
};

ById<Judged> judge(const SquadData& data, const AnswersById& predictions, ScoreUnit unit) {
  ById<Judged> all;
  for (const SquadQuestion& question : data.questions) {
    Judged judged{.score = {}, .has_answer = !question.answers.empty()};
    if (const std::string* prediction = predictions.find(question.id)) {
      std::vector<NormalizedAnswer> golds;
      for (const SquadAnswer& answer : question.answers) {
        NormalizedAnswer gold = normalize_answer(answer.text, unit);
        if (!gold.text.empty()) golds.push_back(std::move(gold));
      }
      if (golds.empty()) golds.emplace_back();
      judged.score = best_of(golds, normalize_answer(*prediction, unit), unit, true);
      judged.says_something = !prediction->empty();
    }
    all.put(question.id, judged);
  }
  return all;
}

// exact, f1 and total of the questions for which `counts` holds, if there are any.
template <class Counts>
void add_scores(Json& result, const std::string& prefix, const ById<Judged>& all,
                const std::vector<Score>& scores, const Counts& counts) {
  double exact = 0, f1 = 0;
  int64_t total = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (!counts(all.items()[i].second)) continue;
    exact += scores[i].exact;
    f1 += scores[i].f1;
    ++total;
  }
  if (total == 0) return;
  result[prefix + "exact"] = 100.0 * exact / static_cast<double>(total);
  result[prefix + "f1"] = 100.0 * f1 / static_cast<double>(total);
  result[prefix + "total"] = total;
}

// From "nothing is answered" on, answers one question more at a time, the surest first.
void add_best_threshold(Json& result, const std::string& name, const ById<Judged>& all,
                        const NullOddsById& odds, double Score::*member) {
  double score = 0;
  for (const auto& [id, judged] : all.items()) score += !judged.has_answer && judged.score;
  std::vector<const std::pair<std::string, Json>*> order;
  for (const auto& item : odds.items()) order.push_back(&item);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return a->second.template get<double>() < b->second.template get<double>();
  });
  double best = score;
  Json threshold = 0.0;
  for (const auto* item : order) {
    const Judged* judged = all.find(item->first);
    if (!judged || !judged->score) continue;
    score += judged->has_answer ? *judged->score.*member : judged->says_something ? -1.0 : 0.0;
    if (score <= best) continue;
    best = score;
    threshold = item->second;
  }
  result["best_" + name] = 100.0 * best / static_cast<double>(all.size());
  result["best_" + name + "_thresh"] = threshold;
}

}  // namespace

Json score_squad_v1(const SquadData& data, const AnswersById& predictions, ScoreUnit unit) {
  double exact = 0, f1 = 0;
  for (const SquadQuestion& question : data.questions) {
    if (question.answers.empty()) {
      throw error(
          "{}: question {} has no answer to compare with; SQuAD 2.0's scores know such questions, "
          "1.1's do not",
          data.name, quote(question.id));
    }
    const std::string* prediction = predictions.find(question.id);
    if (!prediction) continue;
    std::vector<NormalizedAnswer> golds;
    for (const SquadAnswer& answer : question.answers) {
      golds.push_back(normalize_answer(answer.text, unit));
    }
    Score score = best_of(golds, normalize_answer(*prediction, unit), unit, false);
    exact += score.exact;
    f1 += score.f1;
  }
  report(data, predictions);
  auto total = static_cast<double>(data.questions.size());
  return {{"exact_match", 100.0 * exact / total}, {"f1", 100.0 * f1 / total}};
}

Json score_squad_v2(const SquadData& data, const AnswersById& predictions,
                    const SquadV2Options& options) {
  ById<Judged> all = judge(data, predictions, options.unit);
  std::vector<Score> scores;  // with the answers above the threshold taken back
  for (const auto& [id, judged] : all.items()) {
    Score score = judged.score.value_or(Score{});
    if (judged.score) {
      double odds = 0;
      if (options.null_odds) {
        const Json* found = options.null_odds->find(id);
        if (!found) {
          throw error("{}: question {} has a prediction, but no null odds", data.name, quote(id));
        }
        odds = found->get<double>();
      }
      if (odds > options.na_prob_thresh) score.exact = score.f1 = judged.has_answer ? 0 : 1;
    }
    scores.push_back(score);
  }
  report(data, predictions);
  Json result = Json::object();
  add_scores(result, "", all, scores, [](const Judged&) { return true; });
  add_scores(result, "HasAns_", all, scores, [](const Judged& j) { return j.has_answer; });
  add_scores(result, "NoAns_", all, scores, [](const Judged& j) { return !j.has_answer; });
  if (options.null_odds) {
    add_best_threshold(result, "exact", all, *options.null_odds, &Score::exact);
    add_best_threshold(result, "f1", all, *options.null_odds, &Score::f1);
  }
  return result;
}

}  // namespace bertrain
