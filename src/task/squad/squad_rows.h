// From windows to one row a question, and from rows to the official scores.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "task/squad/answer_overlap.h"
#include "task/squad/squad_answers.h"
#include "task/squad/squad_features.h"
#include "task/task.h"
#include "text/tokenizer.h"

namespace bertrain {

// A file of questions as examples.
class SquadFile {
 public:
  // Tokenizes. `training`: windows alone count; else every question has at least one example.
  SquadFile(std::string split, SquadData data, std::shared_ptr<const Tokenizer> tokenizer,
            const SquadFeatureOptions& features, const SquadAnswerOptions& answers, bool training);

  const SquadData& data() const { return *data_; }
  uint64_t size() const { return first_example_.back(); }
  // Window by window in the file's order: input_ids, segment_ids, start_position, end_position, row
  // (the question), and as notes split, window, windows (of its question), tokens, is_impossible.
  Example example(uint64_t index) const;
  SquadPrediction answer(uint64_t question, std::span<const SpanLogits> logits) const {
    return answers_.answer(question, logits);
  }

 private:
  std::string split_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::shared_ptr<const SquadData> data_;
  SquadFeatures features_;
  SquadAnswers answers_;
  std::vector<uint64_t> first_example_;  // by question, and the end
};

ExampleStream stream(std::shared_ptr<const SquadFile> file);

// `file` gives the file of a split.
std::unique_ptr<Rows> make_squad_rows(std::function<const SquadFile&(std::string_view split)> file);

// Of dev's questions; null: there are none, and scores are of no question. Questions that no row came of
// (an evaluation that was cut short) do not count.
std::unique_ptr<Scorer> make_squad_scorer(std::shared_ptr<const SquadFile> dev, bool version_2,
                                          ScoreUnit unit);

}  // namespace bertrain
