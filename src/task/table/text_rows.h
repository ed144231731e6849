// Rows of a table of texts: which columns hold the texts, the label and the id.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "formats/rows.h"
#include "task/table/target.h"

namespace bertrain {

// Columns by name, or by number from 1. Empty: there is no such column.
struct TextColumns {
  std::string text, text_b, label, id;
  // Only rows that have this value in this column.
  std::optional<std::pair<std::string, std::string>> only = {};
  // A label that is read as another.
  std::optional<std::pair<std::string, std::string>> renamed = {};
};

// Logs how many JSON objects have a label, the key `label`, where the first one had none (the reader's
// noticed_key), so that none is read.
void report_unread_labels(const RowReader& rows, const std::string& label);

struct TextRow {
  std::string text, text_b;
  // Without blanks at its ends, or at those of an array's items. Absent: no such column, or null.
  std::optional<RowLabel> label;
  std::string id;
  uint64_t line = 0;  // where the row begins in its file
};

// Opens a file and finds its columns. Throws Error naming the file, the column that it lacks, and
// those that it has. A label column that is absent, or that is a text's, is no error where
// `label_optional`: there are no labels. Two columns of its name are an error always, as it is not
// known which one is meant. Lines without a header and with a single field are texts,
// whatever the column is called.
class TextRowReader {
 public:
  TextRowReader(const std::string& uri, const TextColumns& columns, const RowOptions& options,
                bool label_optional);

  // What makes a row a bad one beyond what cannot be read: its answer for each row, "" where it is none.
  void require(std::function<std::string(const TextRow& row)> fault_of) {
    fault_of_ = std::move(fault_of);
  }

  bool next(TextRow& row);  // false at the end
  bool has_label() const { return label_.has_value(); }
  const RowReader& rows() const { return *rows_; }

  // Logs what was not as expected in the rows read so far: blank, bad and repaired lines, and JSON
  // objects with a label where the first one had none.
  void report() const;

 private:
  void take(TextRow& row);                // from fields_
  std::optional<RowLabel> label() const;  // of the row last read

  std::string label_name_;  // empty: there is none to look for
  std::unique_ptr<RowReader> rows_;
  std::optional<size_t> text_, text_b_, label_, id_, only_;
  std::string only_value_;
  std::optional<std::pair<std::string, std::string>> renamed_;
  uint64_t others_ = 0;  // rows without that value
  std::vector<std::string> fields_;
  std::function<std::string(const TextRow& row)> fault_of_;  // empty: every row will do
};

}  // namespace bertrain
