// Rows of multiple choice to predict, tokenized as they are asked for.
#pragma once

#include <cstdint>
#include <memory>

#include "base/log.h"
#include "data/streams.h"
#include "task/choice/choice_rows.h"
#include "task/pair_input.h"

namespace bertrain {

// The rows of a file of any length, and of standard input, of which no more is read than was asked for
// (`one_by_one`). See choice_example. What was noticed is logged at the end, of each file once in all
// streams that share `told`.
ExampleStream stream_choices(std::unique_ptr<ChoiceRowReader> reader,
                             std::shared_ptr<const PairEncoder> encoder, int64_t places,
                             std::shared_ptr<ToldOnce> told, bool one_by_one);

}  // namespace bertrain
