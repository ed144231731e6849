// Tags of windows back to sentences, and their scores.
#pragma once

#include <memory>

#include "task/labels.h"
#include "task/task.h"

namespace bertrain {

// An example needs the notes `tagged` (first word that is tagged in it, how many are, words of the
// sentence); its other notes are the row's, but for `gold`, of which each example has its own words.
std::unique_ptr<Rows> make_tag_rows(std::shared_ptr<const Labels> labels);
std::unique_ptr<Scorer> make_tag_scorer();

// Of words: their tags. A sentence's kind is which tags are in it.
std::unique_ptr<TargetCounts> make_tag_counts(std::shared_ptr<const Labels> labels);

}  // namespace bertrain
