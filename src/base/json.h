// JSON values with keys in the order they were written.
#pragma once

#include <nlohmann/json.hpp>

namespace bertrain {

using Json = nlohmann::ordered_json;

}  // namespace bertrain
