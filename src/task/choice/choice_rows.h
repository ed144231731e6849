// Rows of multiple choice: a context, how each choice begins, the choices, and which is right, from
// tables in the layout of SWAG [Zellers et al. 2018] (docs/formats/multiple_choice.md).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "formats/rows.h"

namespace bertrain {

inline constexpr size_t kMostChoices = 64;

// Columns by name, or by number from 1. Empty: there is no such column.
struct ChoiceColumns {
  std::string context, question, label, id;
  // Names by commas; or one name, of which "ending" is those of ending0, ending1, …
  std::string choices;
  bool question_optional = false;  // its column may be absent
};

// What is asked of the labels of a file.
enum class ChoiceLabels {
  needed,   // every row has one
  sought,   // their column is there; one that is no choice of its row's, or none, is not known
  optional  // as `sought`, and the column may be absent, or be that of a text
};

struct ChoiceRow {
  std::string context, id;
  std::vector<std::string> choices;  // each with the question in front
  int64_t label = -1;                // −1: not known
  uint64_t line = 0;
};

// Opens a file and finds its columns. Throws Error naming the file and the column that it lacks, and
// usage errors where a column is two choices, or a choice or a text and the label.
class ChoiceRowReader {
 public:
  ChoiceRowReader(const std::string& uri, const ChoiceColumns& columns, const RowOptions& options,
                  ChoiceLabels labels);

  // False at the end. Every row has choices() of them, none empty. Throws Error "FILE:LINE: …".
  bool next(ChoiceRow& row);
  // 2 to kMostChoices, as many as the file has columns of them; an empty file without columns has 2.
  int64_t choices() const;
  const std::string& uri() const { return rows_->uri(); }

  // Logs what was not as expected in the rows read so far: blank, bad and repaired lines, labels that
  // are no choice of their row's, and those of JSON objects where the first one had none.
  void report() const;

 private:
  void find_columns(const ChoiceColumns& columns);
  void take(ChoiceRow& row);  // from fields_
  int64_t label();            // of the row last read; −1: not known

  std::string label_name_;
  std::unique_ptr<RowReader> rows_;
  ChoiceLabels labels_;
  std::vector<size_t> choices_;
  size_t context_ = 0;
  std::optional<size_t> question_, label_, id_;
  uint64_t unknown_ = 0;  // labels left out
  std::vector<std::string> fields_;
};

}  // namespace bertrain
