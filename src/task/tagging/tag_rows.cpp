// Windows of a sentence, put together in whatever order they come.
#include "task/tagging/tag_rows.h"

#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "metrics/one_sided.h"
#include "metrics/scores.h"
#include "task/ordered_rows.h"
#include "task/tagging/entity_scores.h"

namespace bertrain {
namespace {

using Strings = std::vector<std::string>;

class TagRows final : public OrderedRows {
 public:
  explicit TagRows(std::shared_ptr<const Labels> labels) : labels_(std::move(labels)) {}

  void add(const Batch& batch, const Named<Array>& predictions) override {
    check(batch.notes.size() == batch.row.size(), "rows need the notes of their batch");
    size_t target = 0;  // those of an example follow on those of the one before
    for (size_t e = 0; e < batch.row.size(); ++e) {
      const std::vector<int64_t>& tagged = integers(batch.notes[e], "tagged");
      auto first = static_cast<size_t>(tagged.at(0)), count = static_cast<size_t>(tagged.at(1));
      auto words = static_cast<size_t>(tagged.at(2));
      auto [found, is_new] = started_.try_emplace(batch.row[e]);
      Started& row = found->second;
      if (is_new) row = {words, Strings(words), Strings(), std::vector<float>(words), {}, {}};
      if (count > 0) take(batch, predictions, target, first, count, row);
      take_notes(batch.notes[e], first, words, row);
      target += count;
      row.missing -= count;
      if (row.missing > 0) continue;
      finish(batch.row[e], finished(std::move(row)));
      started_.erase(found);
    }
  }

 private:
  struct Started {
    size_t missing;  // words without a tag so far
    Strings tags, gold;
    std::vector<float> probabilities, loss;
    Example notes;
  };

  void take(const Batch& batch, const Named<Array>& predictions, size_t target, size_t first,
            size_t count, Started& row) const {
    auto weight = batch.arrays.at("tag_weights").as<float>();
    auto tag = predictions.at("tag").as<int32_t>();
    auto loss = predictions.at("loss").as<float>();
    auto surprise = predictions.at("surprise").as<float>();
    for (size_t i = 0; i < count; ++i) {
      size_t m = target + i;
      row.tags.at(first + i) = labels_->name(static_cast<size_t>(tag[m]));
      row.probabilities[first + i] = std::exp(-surprise[m]);
      if (weight[m] > 0) row.loss.push_back(loss[m]);
    }
  }

  static void take_notes(const Example& notes, size_t first, size_t words, Started& row) {
    for (const auto& [name, values] : notes) {
      if (name == "gold") {
        const Strings& gold = std::get<Strings>(values);
        row.gold.resize(words);
        std::copy(gold.begin(), gold.end(), row.gold.begin() + static_cast<int64_t>(first));
      } else if (name != "tagged") {
        row.notes[name] = values;
      }
    }
  }

  static Example finished(Started row) {
    Example example = std::move(row.notes);
    example["tags"] = std::move(row.tags);
    example["probabilities"] = std::move(row.probabilities);
    if (row.gold.empty()) return example;
    example["gold"] = std::move(row.gold);
    example["loss"] = std::move(row.loss);
    return example;
  }

  std::shared_ptr<const Labels> labels_;
  std::map<int64_t, Started> started_;  // by row: sentences of which windows are still to come
};

class TagScorer final : public Scorer {
 public:
  void add(const Example& row) override {
    const Strings& tags = strings(row, "tags");
    if (tags.empty()) return;  // lines without words
    if (!row.contains("gold")) {
      throw error("sentence {} (counted from 0) has no tags, so it cannot be scored", sentences_);
    }
    ++sentences_;
    const Strings& gold = strings(row, "gold");
    scores_.add(gold, tags);
    for (size_t i = 0; i < tags.size(); ++i) predicted_.add(gold.at(i), tags[i]);
    for (float loss : floats(row, "loss")) loss_.add(static_cast<double>(loss));
  }

  Json result() const override {
    Hits all = scores_.all();
    return {{"eval_precision", all.precision()},
            {"eval_recall", all.recall()},
            {"eval_f1", all.f1()},
            {"eval_accuracy", scores_.accuracy()},
            {"eval_loss", loss_.mean()},
            {"eval_count", sentences_}};
  }

  std::string doubt() const override {
    Hits all = scores_.all();
    // Where nearly all words are O, finding nothing is nearly always right, and yet nothing is learnt.
    if (all.support() >= kFewestToDoubt && all.true_positive + all.false_positive == 0) {
      return fmt::format(
          "the model finds none of the {} entities: it has not learnt to tell words apart",
          all.support());
    }
    return predicted_.doubt("words", "tagged");
  }

  Json details() const override {
    Json types = Json::object();
    for (const auto& [type, hits] : scores_.types()) {
      types[type.empty() ? "entity" : type] = {{"precision", hits.precision()},
                                               {"recall", hits.recall()},
                                               {"f1", hits.f1()},
                                               {"support", hits.support()}};
    }
    return {{"classes", std::move(types)}};
  }

 private:
  EntityScores scores_;
  OneSided predicted_;
  WeightedMean loss_;
  uint64_t sentences_ = 0;
};

class TagCounts final : public TargetCounts {
 public:
  explicit TagCounts(std::shared_ptr<const Labels> labels) : labels_(std::move(labels)) {}

  // Each word is a target of one window alone, so that it makes no difference where a row begins.
  void add(const Example& example, bool /*begins_row*/) override {
    const std::vector<int64_t>& tags = integers(example, "tags");
    const std::vector<float>& weights = floats(example, "tag_weights");
    for (size_t i = 0; i < tags.size(); ++i) {
      if (weights.at(i) > 0) words_.add(name(tags[i]));
    }
  }
  std::string text() const override { return words_.text("tags", "words"); }
  double constant_loss() const override { return words_.entropy(); }
  std::string kind(const Example& example) const override {
    std::set<std::string> names;
    for (int64_t tag : integers(example, "tags")) names.insert(name(tag));
    return fmt::format("{}", fmt::join(names, ","));
  }

 private:
  const std::string& name(int64_t tag) const { return labels_->name(static_cast<size_t>(tag)); }

  std::shared_ptr<const Labels> labels_;
  Frequencies words_;
};

}  // namespace

std::unique_ptr<Rows> make_tag_rows(std::shared_ptr<const Labels> labels) {
  return std::make_unique<TagRows>(std::move(labels));
}

std::unique_ptr<TargetCounts> make_tag_counts(std::shared_ptr<const Labels> labels) {
  return std::make_unique<TagCounts>(std::move(labels));
}

std::unique_ptr<Scorer> make_tag_scorer() { return std::make_unique<TagScorer>(); }

}  // namespace bertrain
