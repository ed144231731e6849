// What a classifier said about each row, and how good that is over all rows.
#pragma once

#include <memory>

#include "task/labels.h"
#include "task/task.h"

namespace bertrain {

std::unique_ptr<Rows> make_classification_rows(std::shared_ptr<const Labels> labels);
std::unique_ptr<Scorer> make_classification_scorer(std::shared_ptr<const Labels> labels);

}  // namespace bertrain
