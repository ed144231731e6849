// Logits wait until the last window of their question is there.
#include "task/squad/squad_rows.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <utility>

#include "base/error.h"
#include "data/streams.h"
#include "metrics/one_sided.h"
#include "task/ordered_rows.h"
#include "task/squad/python_json.h"
#include "task/squad/squad_scores.h"
#include "task/squad/squad_task.h"

namespace bertrain {
namespace {

using Integers = std::vector<int64_t>;

double number_of(const std::string& text) {
  double value = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  check(code == std::errc() && end == text.data() + text.size(), "a number as it was written");
  return value;
}

class SquadRows final : public OrderedRows {
 public:
  explicit SquadRows(std::function<const SquadFile&(std::string_view)> file)
      : file_(std::move(file)) {}

  void add(const Batch& batch, const Named<Array>& predictions) override {
    const Array &starts = predictions.at("start_logits"), &ends = predictions.at("end_logits");
    auto length = static_cast<size_t>(starts.type.shape.at(1));
    for (size_t e = 0; e < batch.row.size(); ++e) {
      const Example& note = batch.notes.at(e);
      Question& question = waiting_[batch.row[e]];
      auto windows = static_cast<size_t>(integers(note, "windows").at(0));
      if (windows > 0) {
        question.windows.resize(windows);
        auto tokens = static_cast<size_t>(integers(note, "tokens").at(0));
        auto take = [&](const Array& all) {
          auto one = all.as<float>().subspan(e * length, tokens);
          return std::vector<float>(one.begin(), one.end());
        };
        auto window = static_cast<size_t>(integers(note, "window").at(0));
        question.windows.at(window) = {take(starts), take(ends)};
      }
      if (++question.seen < windows) continue;
      answer(file_(strings(note, "split").at(0)), batch.row[e], question);
      waiting_.erase(batch.row[e]);
    }
  }

 private:
  struct Window {
    std::vector<float> start, end;
  };
  struct Question {
    std::vector<Window> windows;
    size_t seen = 0;
  };

  void answer(const SquadFile& file, int64_t number, const Question& question) {
    std::vector<SpanLogits> logits;
    for (const Window& window : question.windows) logits.push_back({window.start, window.end});
    auto index = static_cast<uint64_t>(number);
    finish(number,
           squad_row(file.data().questions.at(index).id, number, file.answer(index, logits)));
  }

  std::function<const SquadFile&(std::string_view)> file_;
  std::map<int64_t, Question> waiting_;
};

class SquadScorer final : public Scorer {
 public:
  SquadScorer(std::shared_ptr<const SquadFile> dev, bool version_2, ScoreUnit unit)
      : dev_(std::move(dev)), version_2_(version_2), unit_(unit) {}

  void add(const Example& row) override {
    auto index = static_cast<uint64_t>(integers(row, "question").at(0));
    const SquadQuestion& question = dev_->data().questions.at(index);
    SquadQuestion& asked = asked_.questions.emplace_back();
    asked.id = question.id;
    asked.answers = question.answers;
    SquadPrediction prediction = squad_prediction_of(row);
    predictions_.put(question.id, prediction.text);
    said_.add(right_answer(question, prediction.text), prediction.text);
    if (version_2_) odds_.put(question.id, prediction.null_odds);
  }

  Json result() const override {
    static constexpr const char* kV1[] = {"exact_match", "f1"};
    static constexpr const char* kV2[] = {"HasAns_exact",      "HasAns_f1",     "NoAns_exact",
                                          "NoAns_f1",          "best_exact",    "best_f1",
                                          "best_exact_thresh", "best_f1_thresh"};
    // The answers are chosen already; null odds only tell the best threshold.
    constexpr double kNever = std::numeric_limits<double>::infinity();
    Json official = Json::object(), scores = Json::object();
    if (!asked_.questions.empty()) {
      official = version_2_ ? score_squad_v2(
                                  asked_, predictions_,
                                  {.null_odds = &odds_, .na_prob_thresh = kNever, .unit = unit_})
                            : score_squad_v1(asked_, predictions_, unit_);
    }
    if (official.contains("exact")) official["exact_match"] = official["exact"];
    auto put = [&](std::string_view name) {
      scores[fmt::format("eval_{}", name)] = official.value(std::string(name), 0.0);
    };
    for (const char* name : kV1) put(name);
    for (const char* name : kV2) {
      if (version_2_) put(name);
    }
    scores["eval_count"] = asked_.questions.size();
    return scores;
  }

  std::string doubt() const override { return said_.doubt("questions", "answered"); }

 private:
  // The answer that was given where it is one of the right ones, else the first; "": there is none.
  static std::string right_answer(const SquadQuestion& question, const std::string& given) {
    for (const SquadAnswer& answer : question.answers) {
      if (answer.text == given) return given;
    }
    return question.answers.empty() ? "" : question.answers[0].text;
  }

  std::shared_ptr<const SquadFile> dev_;
  bool version_2_;
  ScoreUnit unit_;
  SquadData asked_;  // questions that a row came of, without contexts
  AnswersById predictions_;
  OneSided said_;
  NullOddsById odds_;
};

}  // namespace

SquadFile::SquadFile(std::string split, SquadData data, std::shared_ptr<const Tokenizer> tokenizer,
                     const SquadFeatureOptions& features, const SquadAnswerOptions& answers,
                     bool training)
    : split_(std::move(split)),
      tokenizer_(std::move(tokenizer)),
      data_(std::make_shared<const SquadData>(std::move(data))),
      features_(data_, *tokenizer_, features, training),
      answers_(features_, *tokenizer_, answers) {
  first_example_.push_back(0);
  for (uint64_t q = 0; q < data_->questions.size(); ++q) {
    uint64_t windows = features_.windows_before(q + 1) - features_.windows_before(q);
    first_example_.push_back(first_example_.back() + std::max<uint64_t>(windows, training ? 0 : 1));
  }
  features_.report();
}

Example SquadFile::example(uint64_t index) const {
  auto after = std::upper_bound(first_example_.begin(), first_example_.end(), index);
  auto question = static_cast<uint64_t>(after - first_example_.begin() - 1);
  uint64_t before = features_.windows_before(question);
  uint64_t windows = features_.windows_before(question + 1) - before;
  uint64_t window = index - first_example_[question];
  Integers ids, segments, start = {0}, end = {0};
  if (windows > 0) {
    SquadFeature feature = features_.feature(before + window);
    ids.assign(feature.input_ids.begin(), feature.input_ids.end());
    segments.assign(ids.size(), 1);
    std::fill_n(segments.begin(), feature.first, 0);
    start[0] = feature.start_position;
    end[0] = feature.end_position;
  } else {
    const Vocabulary& vocabulary = tokenizer_->vocabulary();
    const auto& special = tokenizer_->special();
    ids = {vocabulary.id(special.classify), vocabulary.id(special.separate)};
    segments.assign(2, 0);
  }
  auto one = [](uint64_t value) { return Integers{static_cast<int64_t>(value)}; };
  return {{"tokens", one(ids.size())},
          {"input_ids", std::move(ids)},
          {"segment_ids", std::move(segments)},
          {"start_position", std::move(start)},
          {"end_position", std::move(end)},
          {"is_impossible", one(data_->questions[question].is_impossible ? 1 : 0)},
          {"row", one(question)},
          {"window", one(window)},
          {"windows", one(windows)},
          {"split", std::vector<std::string>{split_}}};
}

ExampleStream stream(std::shared_ptr<const SquadFile> file) {
  uint64_t size = file->size();
  return indexed(size, [=](uint64_t index) { return file->example(index); });
}

std::unique_ptr<Rows> make_squad_rows(
    std::function<const SquadFile&(std::string_view split)> file) {
  return std::make_unique<SquadRows>(std::move(file));
}

std::unique_ptr<Scorer> make_squad_scorer(std::shared_ptr<const SquadFile> dev, bool version_2,
                                          ScoreUnit unit) {
  return std::make_unique<SquadScorer>(std::move(dev), version_2, unit);
}

Example squad_row(const std::string& id, int64_t question, const SquadPrediction& prediction) {
  std::vector<std::string> texts, probabilities;
  std::vector<float> starts, ends;
  for (const SquadCandidate& c : prediction.n_best) {
    texts.push_back(c.text);
    probabilities.push_back(python_number(c.probability));
    starts.push_back(static_cast<float>(c.start_logit));  // which they were
    ends.push_back(static_cast<float>(c.end_logit));
  }
  using Strings = std::vector<std::string>;
  return {{"id", Strings{id}},
          {"question", Integers{question}},
          {"answer", Strings{prediction.text}},
          {"n_best_text", std::move(texts)},
          {"probability", std::move(probabilities)},
          {"start_logit", std::move(starts)},
          {"end_logit", std::move(ends)},
          {"null_odds", Strings{python_number(prediction.null_odds)}}};
}

SquadPrediction squad_prediction_of(const Example& row) {
  SquadPrediction prediction;
  prediction.text = strings(row, "answer").at(0);
  prediction.null_odds = number_of(strings(row, "null_odds").at(0));
  const auto& texts = strings(row, "n_best_text");
  for (size_t i = 0; i < texts.size(); ++i) {
    prediction.n_best.push_back({.text = texts[i],
                                 .probability = number_of(strings(row, "probability").at(i)),
                                 .start_logit = double{floats(row, "start_logit").at(i)},
                                 .end_logit = double{floats(row, "end_logit").at(i)}});
  }
  return prediction;
}

}  // namespace bertrain
