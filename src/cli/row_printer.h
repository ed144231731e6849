// Predicted rows as lines of text, in the format that a user asked for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/example.h"

namespace bertrain {

// Lines end in \n. A row holds what Rows of a classifier give: label, probability, probabilities (in
// the order of the labels), and id, gold and loss where they are known.
class RowPrinter {
 public:
  virtual ~RowPrinter() = default;
  virtual std::string head() const { return ""; }
  virtual std::string line(const Example& row) const = 0;
};

// "jsonl" or "tsv"; else a usage error that names --output_format.
std::unique_ptr<RowPrinter> make_row_printer(const std::string& format,
                                             std::vector<std::string> labels);

// Of what fills masks, as task/inference/fill_mask.h gives it: jsonl only.
std::unique_ptr<RowPrinter> make_mask_printer(const std::string& format);

}  // namespace bertrain
