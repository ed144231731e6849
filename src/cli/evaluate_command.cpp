// The evaluate command: scores of a model over rows whose answers are known.
#include "cli/evaluate_command.h"

#include <algorithm>
#include <limits>
#include <ostream>
#include <tuple>

#include "base/error.h"
#include "base/log.h"
#include "cli/trained_model.h"
#include "cli/training_run.h"

namespace bertrain {
namespace {

struct EvaluateFlags {
  InferenceOptions inference;
  int64_t eval_batch_size = 32, max_eval_steps = 0;
  bool json = false;

  EachOption each() {
    return [this](OptionVisitor& v) {
      inference.each(v);
      v("eval_batch_size", eval_batch_size, "rows at a time; changes no result");
      v("max_eval_steps", max_eval_steps, "batches at most; 0: all rows");
      v("json", json, "print all scores and tables as one JSON object");
    };
  }
};

// Columns padded to the widest name. Names are counted in bytes, which only costs looks.
void print_classes(const Json& classes, std::ostream& out) {
  size_t width = 5;
  for (const auto& [name, value] : classes.items()) width = std::max(width, name.size());
  out << fmt::format("\n{:<{}}  precision  recall      f1  rows\n", "class", width);
  for (const auto& [name, value] : classes.items()) {
    out << fmt::format("{:<{}}  {:9.4f}  {:6.4f}  {:6.4f}  {}\n", name, width,
                       value["precision"].get<double>(), value["recall"].get<double>(),
                       value["f1"].get<double>(), value["support"].get<uint64_t>());
  }
}

// The pairs of classes that are mistaken for each other most often, both ways together.
void print_confused(const Json& pairs, std::ostream& out) {
  constexpr size_t kShown = 5;
  if (pairs.empty()) return;
  out << "\nmost often confused:\n";
  for (size_t i = 0; i < pairs.size() && i < kShown; ++i) {
    const Json& pair = pairs[i];
    auto first = pair["first_as_second"].get<uint64_t>();
    auto second = pair["second_as_first"].get<uint64_t>();
    out << fmt::format("  {} and {}: {} ({} of the first taken for the second)\n",
                       pair["labels"][0].get<std::string>(), pair["labels"][1].get<std::string>(),
                       first + second, first);
  }
}

void run_evaluate(Args args, std::ostream& out) {
  EvaluateFlags o;
  if (wants_help(args)) return print_help(kEvaluateCommand, o.each(), out);
  parse_only_options(args, o.each());
  require_between("eval_batch_size", o.eval_batch_size, 1, kMaxBatchSize);
  require_between("max_eval_steps", o.max_eval_steps, 0, std::numeric_limits<int64_t>::max());
  TrainedModel model(o.inference, "dev", o.eval_batch_size);
  EvaluationResult result = model.run(true, o.max_eval_steps, {});
  log_line("{} rows in {:.1f} s", result.rows, result.seconds);
  if (o.json) {
    Json all = result.scores;
    all.update(result.details);
    out << all.dump(2) << "\n";
    return;
  }
  print_scores(result.scores, out);
  if (result.details.contains("classes")) print_classes(result.details["classes"], out);
  if (result.details.contains("confused")) print_confused(result.details["confused"], out);
}

}  // namespace

const Command kEvaluateCommand = {
    "evaluate", "scores of a trained model on rows whose answers are known",
    "bertrain evaluate --model_dir=topics --input_file=test.tsv\n"
    "bertrain evaluate --model_dir=run/model --input_file='held-out/*.tfrecord' --json",
    run_evaluate};

}  // namespace bertrain
