// What a finished run writes down of its results, so that a later start sees whether they are still those.
#pragma once

#include <string>

#include "base/json.h"

namespace bertrain {

// Which rows are predicted: their file with its fingerprint; of what can be read but once only the name
// is known.
Json about_rows(const std::string& file);

// Each file of the model folder by its name, with its fingerprint.
Json about_model(const std::string& folder);

// Throws Error for a file of the folder that is there and not what the results have of it under "model":
// somebody's work, or damage, which is not for the run to replace.
void refuse_changed_model(const std::string& folder, const Json& results);

}  // namespace bertrain
