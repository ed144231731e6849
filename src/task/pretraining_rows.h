// What pre-training got right in each record, and over all records.
#pragma once

#include <memory>

#include "task/task.h"

namespace bertrain {

// Rows: masked_lm_weight, masked_lm_loss, masked_lm_correct (sums over the record's targets, the
// last two weighted) and, where there is one, next_sentence_loss, next_sentence_correct (0 or 1); all
// f32 of one element.
std::unique_ptr<Rows> make_pretraining_rows(bool next_sentence);
std::unique_ptr<Scorer> make_pretraining_scorer(bool next_sentence);

}  // namespace bertrain
