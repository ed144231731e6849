// Names beside a name, and files that appear whole.
#include "cli/answer_output.h"

#include <span>

#include "base/log.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

void write_whole(const std::string& file, const std::string& text) {
  std::unique_ptr<Writer> writer = storage_for(file).create(file, Exists::replace);
  writer->append(std::as_bytes(std::span(text)));
  writer->commit();
  log_line("{} is written", file);
}

}  // namespace

AnswerFiles answer_files(const std::string& output_file) {
  if (output_file == "-") return {"-", "", ""};
  size_t slash = output_file.rfind('/');
  size_t begin = slash == std::string::npos ? 0 : slash + 1;
  std::string folder = output_file.substr(0, begin), name = output_file.substr(begin);
  constexpr std::string_view kAnswers = "predictions", kOdds = "null_odds";
  std::string odds = fmt::format("{}_{}", kOdds, name);
  if (size_t at = name.rfind(kAnswers); at != std::string::npos) {
    odds = std::string(name).replace(at, kAnswers.size(), kOdds);
  }
  return {output_file, folder + "nbest_" + name, folder + odds};
}

void write_answers(const SquadPredictions& answers, const AnswerFiles& files, bool version_2,
                   std::ostream& out) {
  if (files.predictions == "-") {
    out << predictions_json(answers);
    return;
  }
  write_whole(files.n_best, nbest_predictions_json(answers));
  if (version_2) write_whole(files.null_odds, null_odds_json(answers));
  write_whole(files.predictions, predictions_json(answers));
}

}  // namespace bertrain
