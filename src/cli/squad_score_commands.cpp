// evaluate-v1.1.py and evaluate-v2.0.py: a file of questions and one of answers to the official JSON.
#include "cli/squad_score_commands.h"

#include <ostream>

#include "base/error.h"
#include "base/log.h"
#include "base/quote.h"
#include "cli/options.h"
#include "storage/storage.h"
#include "task/squad/python_json.h"
#include "task/squad/squad_scores.h"

namespace bertrain {
namespace {

struct ScoreOptions {
  std::string unit = "word", na_prob_file, out_file;
  double na_prob_thresh = 1.0;
  bool version_2 = false;

  EachOption each() {
    return [this](OptionVisitor& v) {
      v("score_unit", unit, "word, or character for Chinese, as CMRC 2018 scores");
      if (!version_2) return;
      // Also by the letters of the script.
      v("na_prob_file", na_prob_file, "null_odds.json: also looks for the best threshold");
      v("n", na_prob_file, "the same");
      v("na_prob_thresh", na_prob_thresh, "above it an answer counts as none");
      v("t", na_prob_thresh, "the same");
      v("out_file", out_file, "where the scores go (default: standard output)");
      v("o", out_file, "the same");
    };
  }
};

ScoreUnit unit_of(const std::string& name) {
  if (name == "word") return ScoreUnit::word;
  if (name == "character") return ScoreUnit::character;
  throw usage_error("--score_unit={}: word or character expected", name);
}

struct Answered {
  SquadData data;
  AnswersById answers;
};

Answered read_files(const Command& command, const std::vector<std::string>& files) {
  if (files.size() != 2) {
    throw usage_error(
        "{}: a file of questions and a file of answers expected, in this order; {} {} given",
        command.name, files.size(), files.size() == 1 ? "is" : "are");
  }
  return {read_squad(files[0], SquadUse::scoring), read_predictions(files[1])};
}

void score_v1(Args args, std::ostream& out) {
  ScoreOptions o;
  if (wants_help(args)) return print_help(kScoreSquadV1Command, o.each(), out);
  std::vector<std::string> files = parse_options(args, o.each());
  ScoreUnit unit = unit_of(o.unit);
  Answered read = read_files(kScoreSquadV1Command, files);
  if (read.data.version != "1.1") {
    log_warning("{}: version 1.1 expected, {} found", read.data.name, quote(read.data.version));
  }
  out << python_json(score_squad_v1(read.data, read.answers, unit)) << "\n";
}

void score_v2(Args args, std::ostream& out) {
  ScoreOptions o;
  o.version_2 = true;
  if (wants_help(args)) return print_help(kScoreSquadV2Command, o.each(), out);
  std::vector<std::string> files = parse_options(args, o.each());
  SquadV2Options how = {.na_prob_thresh = o.na_prob_thresh, .unit = unit_of(o.unit)};
  Answered read = read_files(kScoreSquadV2Command, files);
  NullOddsById odds;
  if (!o.na_prob_file.empty()) {
    odds = read_null_odds(o.na_prob_file);
    how.null_odds = &odds;
    files.push_back(o.na_prob_file);
  }
  Json scores = score_squad_v2(read.data, read.answers, how);
  if (o.out_file.empty()) {
    out << python_json(scores, 2) << "\n";
    return;
  }
  refuse_overwriting(o.out_file, files, fmt::format("--out_file={}", o.out_file));
  write_text(o.out_file, python_json(scores));
}

}  // namespace

const Command kScoreSquadV1Command = {
    "evaluate-v1.1.py", "SQuAD 1.1's official scores of a file of answers",
    "bertrain evaluate-v1.1.py dev-v1.1.json predictions.json", score_v1};

const Command kScoreSquadV2Command = {
    "evaluate-v2.0.py", "SQuAD 2.0's official scores of a file of answers",
    "bertrain evaluate-v2.0.py dev-v2.0.json predictions.json --na-prob-file null_odds.json",
    score_v2};

}  // namespace bertrain
