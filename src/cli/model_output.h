// The result of a run as a model folder.
#pragma once

#include <string>

#include "base/json.h"
#include "model/config.h"
#include "task/task.h"
#include "text/tokenizer.h"
#include "train/state.h"

namespace bertrain {

// Writes `path` whole: what transformers and our evaluate and predict need. `about` (step, scores)
// is kept in bertrain.json beside the task's description.
void write_model(const std::string& path, const Task& task, const BertConfig& config,
                 const Tokenizer& tokenizer, const State& state, const Json& about);

}  // namespace bertrain
