// What differs between two JSON values, for a reader.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace bertrain {

// Each value that differs as "learning_rate: 5e-05 before, 0.0001 now", in the order of `now`;
// values inside objects as "labels.0", long lists as "3000 labels before, 2999 now; the first that
// differs is number 7: …". What is named so in `neutral` is left out.
std::vector<std::string> differences(const Json& before, const Json& now,
                                     const std::vector<std::string>& neutral);

}  // namespace bertrain
