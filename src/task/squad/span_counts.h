// How many questions have an answer, and where windows have theirs.
#pragma once

#include <memory>

#include "task/target_counts.h"

namespace bertrain {

// Of questions: with an answer or without. The loss is that of a model which gives every window the same
// distributions of where an answer starts and where it ends.
std::unique_ptr<TargetCounts> make_squad_counts();

}  // namespace bertrain
