// JSON as Python's json.dumps prints it, to the byte: what users of the reference's scripts compare.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace bertrain {

// {"a": 1.0, "b": [1, 2]}: ", " and ": " between, or with `indent` blanks a level one value a line.
// Without a line end.
std::string python_json(const Json& value, int indent = -1);

// Of a number, repr(): the shortest digits that are read as the same double, "1e-05", "100.0"; NaN and Infinity as json has them.
std::string python_number(double value);
// In quotes, everything beyond printable ASCII as \uXXXX.
std::string python_text(std::string_view text);

}  // namespace bertrain
