// How what is to be predicted of training rows is spread, and what a model gets that says the same of
// every row: a model that gets no more has learnt nothing from the rows' inputs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "data/example.h"

namespace bertrain {

// Made by a task for its examples of "train"; counts those that it is given.
class TargetCounts {
 public:
  virtual ~TargetCounts() = default;
  // begins_row: not a further window of the row before it.
  virtual void add(const Example& example, bool begins_row) = 0;
  // Lines for a person, each with its end: "labels of 60 rows: 3; always saying 'c0' is right for
  // 33.3 %", and the most frequent.
  virtual std::string text() const = 0;
  // The least training loss of a model that says the same of every example, by the task's terms; 0 where
  // all targets are alike, and of no example.
  virtual double constant_loss() const = 0;
  // Rows of different kinds have different targets: what is to be predicted, as text.
  virtual std::string kind(const Example& example) const = 0;
};

// Names, and how much of each was counted.
class Frequencies {
 public:
  void add(const std::string& name, double weight = 1);
  double total() const { return total_; }
  double share(std::string_view name) const;  // 0 … 1
  // The least mean cross-entropy of one distribution for all, in nats.
  double entropy() const;
  // TargetCounts::text() of names that are called `what` ("labels") of `things` ("rows").
  std::string text(std::string_view what, std::string_view things) const;

 private:
  std::map<std::string, double, std::less<>> weights_;
  double total_ = 0;
};

}  // namespace bertrain
