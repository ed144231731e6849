// The evaluate command: scores of a model over rows whose answers are known.
#include "cli/evaluate_command.h"

#include <limits>
#include <ostream>

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
      v("json", json, "print all scores as one JSON object");
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
void print_confusion(const Json& confusion, std::ostream& out) {
  constexpr size_t kShown = 5;
  auto labels = confusion["labels"].get<std::vector<std::string>>();
  auto matrix = confusion["matrix"].get<std::vector<std::vector<uint64_t>>>();
  std::vector<std::tuple<uint64_t, size_t, size_t>> pairs;
  for (size_t a = 0; a < labels.size(); ++a) {
    for (size_t b = a + 1; b < labels.size(); ++b) {
      if (uint64_t count = matrix[a][b] + matrix[b][a]) pairs.emplace_back(count, a, b);
    }
  }
  std::sort(pairs.begin(), pairs.end(), [](const auto& x, const auto& y) {
    return std::get<0>(x) != std::get<0>(y) ? std::get<0>(x) > std::get<0>(y) : x < y;
  });
  if (pairs.empty()) return;
  out << "\nmost often confused:\n";
  for (size_t i = 0; i < pairs.size() && i < kShown; ++i) {
    auto [count, a, b] = pairs[i];
    out << fmt::format("  {} and {}: {} ({} of the first taken for the second)\n", labels[a],
                       labels[b], count, matrix[a][b]);
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
    out << result.scores.dump(2) << "\n";
    return;
  }
  print_scores(result.scores, out);
  if (result.scores.contains("classes")) print_classes(result.scores["classes"], out);
  if (result.scores.contains("confusion")) print_confusion(result.scores["confusion"], out);
}

}  // namespace

const Command kEvaluateCommand = {
    "evaluate", "scores of a trained model on rows whose answers are known",
    "bertrain evaluate --model_dir=topics --input_file=test.tsv\n"
    "bertrain evaluate --model_dir=run/model --input_file='held-out/*.tfrecord' --json",
    run_evaluate};

}  // namespace bertrain
