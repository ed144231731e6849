// The files that a benchmark takes in: a model's predictions of its test tables.
#pragma once

#include <string>
#include <vector>

#include "cli/trained_model.h"
#include "task/table/layouts.h"

namespace bertrain {

// For each test table of the layout that is in data_dir, FOLDER/NAME.tsv with the header "index",
// "prediction" and a line for each row: its number from 0, and the class by its name or the number.
// `how` names the model and the device. Returns the files; tables that are not there are logged.
std::vector<std::string> write_submission(const TableLayout& layout, const std::string& data_dir,
                                          const std::string& folder, InferenceOptions how);

}  // namespace bertrain
