// Rows of multiple choice: a context, how each choice begins, the choices, and which is right, from
// tables in the layout of SWAG [Zellers et al. 2018] (docs/formats/multiple_choice.md).
#pragma once

#include <cstdint>
#include <functional>
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
};

struct ChoiceRow {
  std::string context, id;
  std::vector<std::string> choices;  // each with the question in front
  int64_t label = -1;                // −1: not known
  uint64_t line = 0;
};

// Hands each row of a file to `take` in order, or the first `most` where that is not 0. Every row has as
// many choices as the file has columns of them, two at least, none empty. Where not `label_needed`, the
// label's column may be absent, and its field empty. `question_optional`: its column may be absent.
// Throws Error "FILE:LINE: …". Returns how many choices a row has.
int64_t read_choices(const std::string& uri, const ChoiceColumns& columns,
                     const RowOptions& options, bool question_optional, bool label_needed,
                     int64_t most, const std::function<void(ChoiceRow row)>& take);

}  // namespace bertrain
