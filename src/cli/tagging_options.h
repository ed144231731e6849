// What a tagger takes of the options for tables, and which of them say nothing to it.
#pragma once

#include <string_view>

#include "task/table/classification.h"
#include "task/tagging/tagging.h"

namespace bertrain {

// `columns` has the tagger's own options. Throws a usage error for an option of tables alone.
TaggingOptions tagging_of(const ClassificationOptions& table, const TagColumns& columns);

// A usage error for columns of a tagger that were named for another task.
void refuse_tag_columns(const TagColumns& columns, std::string_view task);

}  // namespace bertrain
