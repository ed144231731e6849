// Names beside a name, and files that appear whole.
#include "cli/answer_output.h"

#include <span>

#include "base/log.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

void append(Writer& writer, const std::string& text) {
  writer.append(std::as_bytes(std::span(text)));
}

}  // namespace

AnswerFiles answer_files(const std::string& output_file) {
  if (is_read_once(output_file)) return {output_file, "", ""};  // nothing lies beside those
  std::string folder(folder_part(output_file)), name = output_file.substr(folder.size());
  constexpr std::string_view kAnswers = "predictions", kOdds = "null_odds";
  std::string odds = fmt::format("{}_{}", kOdds, name);
  if (size_t at = name.rfind(kAnswers); at != std::string::npos) {
    odds = std::string(name).replace(at, kAnswers.size(), kOdds);
  }
  return {output_file, folder + "nbest_" + name, folder + odds};
}

AnswerOutput::AnswerOutput(const AnswerFiles& files, bool version_2, std::ostream& out)
    : files_(files), answers_(files.predictions, false, out) {
  if (!files.n_best.empty()) n_best_ = &beside_.create(files.n_best);
  if (version_2 && !files.null_odds.empty()) null_odds_ = &beside_.create(files.null_odds);
}

void AnswerOutput::write(const SquadPredictions& answers) {
  if (n_best_) append(*n_best_, nbest_predictions_json(answers));
  if (null_odds_) append(*null_odds_, null_odds_json(answers));
  answers_.write(predictions_json(answers));
  answers_.settle();
  beside_.commit();
  answers_.commit();
  for (const std::string& file :
       {n_best_ ? files_.n_best : "", null_odds_ ? files_.null_odds : "", files_.predictions}) {
    if (!file.empty() && file != "-") log_line("{} is written", file);
  }
}

}  // namespace bertrain
