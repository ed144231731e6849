// The files that run_squad.py leaves and the evaluation scripts read: predictions.json,
// nbest_predictions.json and null_odds.json (docs/formats/squad.md).
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "task/squad/by_id.h"
#include "task/squad/squad_answers.h"

namespace bertrain {

using SquadPredictions = ById<SquadPrediction>;

// The bytes that the reference writes, with a line end.
std::string predictions_json(const SquadPredictions& predictions);
std::string nbest_predictions_json(const SquadPredictions& predictions);
std::string null_odds_json(const SquadPredictions& predictions);

using AnswersById = ById<std::string>;
using NullOddsById = ById<Json>;  // numbers, kept as they are written

// One object {id: text} or {id: number}, of any number of ids. Throws Error that names file and id
// for anything else; of an id that comes twice the last value counts, as in Python.
AnswersById read_predictions(std::string_view uri);
NullOddsById read_null_odds(std::string_view uri);
AnswersById parse_predictions(std::string_view json, std::string_view name);
NullOddsById parse_null_odds(std::string_view json, std::string_view name);

}  // namespace bertrain
