// One problem: its data, its model's head and its metric, in the order of the journey. Pre-training
// is a Task too.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "data/packer.h"
#include "task/target_counts.h"
#include "tensor/scope.h"

namespace bertrain {

using Inputs = Named<Tensor>;  // the packer's and the schema's names, on their axes

// What the loss is a weighted sum of. The host divides the raw weights by the normaliser of the
// global batch before the batch is cut, so that loss and gradients are plain sums over
// micro-batches, replicas and ranks.
struct LossTerm {
  std::string name;  // "masked_lm_loss"
  Axis axis = Axis::example;
  std::string weight;  // the schema's (or packer's) f32 field with the raw weights
  double epsilon = 0;  // normaliser: Σ weight + epsilon
};

struct Outputs {
  Named<Tensor> losses;  // un-reduced, f32 [E] or [M], by LossTerm::name
  Inputs predictions;    // [E, …] or [M, …]
};

// Predictions per example, in any order → one finished row per input row, in order. Batches are
// packed with PackOptions::keep_notes, because what a row is called and what its label is travels
// in the notes; an input row may be spread over several examples.
class Rows {
 public:
  virtual ~Rows() = default;
  virtual void add(const Batch& batch, const Named<Array>& predictions) = 0;
  virtual std::optional<Example> next() = 0;  // nullopt: the next row is not finished yet
};

// Scores over rows, each once, so that they do not depend on how rows were batched.
class Scorer {
 public:
  virtual ~Scorer() = default;
  virtual void add(const Example& row) = 0;
  // {"eval_accuracy": 0.84, …}: numbers only, as many for any data, so that they can be kept with
  // every checkpoint and model.
  virtual Json result() const = 0;
  // Tables for who asks for them: of each class and the like, as large as the task makes them.
  virtual Json details() const { return Json::object(); }
  // What in the predictions says that the model has learnt nothing ("… are all labelled 'a'"); empty:
  // nothing does.
  virtual std::string doubt() const { return ""; }
};

class Task {
 public:
  virtual ~Task() = default;
  virtual std::vector<std::string> splits() const = 0;  // "train", "dev", "test", "dev_matched", …
  virtual Schema schema() const = 0;
  virtual std::vector<LossTerm> terms() const = 0;
  // one pass, in file order, ready for the packer
  virtual ExampleStream examples(std::string_view split) const = 0;
  // One pass of training that is shuffled: the same examples; files of records, which a shuffle only
  // mixes with their neighbours, in an order that is a function of seed and pass.
  virtual ExampleStream shuffled_files(std::string_view split, uint64_t /*seed*/,
                                       uint64_t /*pass*/) const {
    return examples(split);
  }
  // examples of that split, if known
  virtual std::optional<uint64_t> count(std::string_view split) const = 0;
  // For who looks whether "train" can be learnt; null: its targets are not worth counting.
  virtual std::unique_ptr<TargetCounts> target_counts() const { return nullptr; }
  // what the user calls a row of "train", whose number a batch holds
  virtual std::string row_name(int64_t row) const { return std::to_string(row); }
  virtual int64_t max_seq_length() const = 0;
  virtual int64_t max_targets() const = 0;  // per example; 0: no target axis
  // Where padding takes part in the loss: slots that every example is trained with
  // (PackOptions::padded_length); 0: its own.
  virtual int64_t padded_length() const { return 0; }
  virtual Outputs build(const Scope& scope, const Inputs& batch) const = 0;
  virtual std::unique_ptr<Rows> rows() const = 0;
  virtual std::unique_ptr<Scorer> scorer() const = 0;
  virtual Json describe() const = 0;  // labels and settings, stored in the model folder
};

}  // namespace bertrain
