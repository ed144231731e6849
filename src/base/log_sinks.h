// The log's two sides apart, for the parts that write to them.
#pragma once

#include <string_view>

namespace bertrain {

// To the added sinks alone, where standard error shows the same in another way.
void log_beside(std::string_view line);

// To standard error alone, and so also from within a sink: that it cannot write.
void log_alone(std::string_view line);

}  // namespace bertrain
