// Predicted rows as lines of text, in the format that a user asked for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "data/example.h"

namespace bertrain {

// Lines end in \n. A row holds what Rows of the task give (task/table/target.h,
// task/squad/squad_task.h).
class RowPrinter {
 public:
  virtual ~RowPrinter() = default;
  virtual std::string head() const { return ""; }
  virtual std::string line(const Example& row) const = 0;
};

// "jsonl", "tsv", "conll" or "conlleval", or "", the task's own; else a usage error that names
// --output_format.
void require_output_format(const std::string& format);

// For rows of the task that is described so (Task::describe()): classification, multilabel, regression
// and multiple_choice as jsonl (their own) or tsv; squad as jsonl; tagging as conll (its own: the input's lines with the
// tags in their column), conlleval (with the tags behind the last column) or jsonl. `logits`: with what
// the probabilities are made of, in jsonl of classification, multilabel and multiple_choice; else a
// usage error.
std::unique_ptr<RowPrinter> make_row_printer(const std::string& format, const Json& task,
                                             bool logits = false);

// What a run calls the predicted rows of its test file, in the format that is the task's own.
std::string predictions_file(const Json& task);

// Of what fills masks, as task/inference/fill_mask.h gives it: jsonl only.
std::unique_ptr<RowPrinter> make_mask_printer(const std::string& format, bool logits = false);

}  // namespace bertrain
