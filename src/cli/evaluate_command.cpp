// The evaluate command: scores of a model over rows whose answers are known.
#include "cli/evaluate_command.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <ostream>
#include <sstream>
#include <tuple>

#include "base/checked_json.h"
#include "base/error.h"
#include "base/log.h"
#include "base/quote.h"
#include "cli/model_source.h"
#include "cli/prepare_command.h"
#include "cli/trained_model.h"
#include "cli/training_run.h"
#include "formats/tfrecord.h"
#include "storage/storage.h"

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
  for (const auto& [name, value] : classes.items()) width = std::max(width, printable(name).size());
  out << fmt::format("\n{:<{}}  precision  recall      f1  rows\n", "class", width);
  for (const auto& [name, value] : classes.items()) {
    out << fmt::format("{:<{}}  {:9.4f}  {:6.4f}  {:6.4f}  {}\n", printable(name), width,
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
                       printable(pair["labels"][0].get<std::string>()),
                       printable(pair["labels"][1].get<std::string>()), first + second, first);
  }
}

// Text for a pre-trained model becomes the records that `prepare` would make of it once, with its own
// seed, so that the same text has the same scores. In memory: a text to evaluate on is short beside
// one to train on.
constexpr const char* kRecords = "mem://evaluated_text/records.tfrecord";

bool is_text_for(const InferenceOptions& o) {
  std::optional<std::string> path = find_model_folder(o.model_dir);
  if (!path || o.input_file.empty()) return false;
  Json task = task_of(read_model_folder(*path), *path);
  if (task.is_null() || task["task"] != "pretraining") return false;
  refuse_idle_options(o, "pretraining");
  std::string text, records;  // a file of either kind
  for (const std::string& file : expand_globs(o.input_file)) {
    bool is_text = is_read_once(file) || starts_like_text(file);
    // Records that are damaged at their start are told from what never were any by their name alone.
    if (!is_text && !o.skip_corrupt && file.find("tfrecord") == std::string::npos &&
        storage_for(file).size(file).value_or(0) > 0 && !starts_like_tfrecord(file)) {
      throw error(
          "{}: neither text nor TFRecords: it begins with control characters, and not with the "
          "length of a record",
          file);
    }
    (is_text ? text : records) = file;
  }
  if (!text.empty() && !records.empty()) {
    throw usage_error(
        "--input_file={}: {} is text and {} holds records; a call takes files of one kind",
        o.input_file, text, records);
  }
  return !text.empty();
}

void prepare_text(const EvaluateFlags& o) {
  std::string path = *find_model_folder(o.inference.model_dir);
  ModelFolder folder = read_model_folder(path);
  if (folder.is_roberta()) {
    throw usage_error(
        "--model_dir={}: text is evaluated on as BERT's pairs of sentences, which a RoBERTa is not "
        "trained on; predict fills its <mask>",
        o.inference.model_dir);
  }
  Json task = task_of(folder, path);
  JsonValue described(task, task_file(path), "task");
  int64_t positions = config_of(folder, path).max_position_embeddings;
  int64_t length = std::min<int64_t>(128, positions);
  if (auto given = described.find("max_seq_length")) length = given->integer(1, positions);
  int64_t most = std::max<int64_t>(1, (length * 15 + 50) / 100);
  if (auto given = described.find("max_predictions_per_seq")) most = given->integer(1, length);
  std::vector<std::string> flags = {
      "--input_file=" + o.inference.input_file,
      std::string("--output_file=") + kRecords,
      "--vocab_file=" + vocabulary_file(path),
      fmt::format("--do_lower_case={}", folder.do_lower_case),
      fmt::format("--max_input_chars_per_word={}", folder.max_chars_per_word),
      fmt::format("--special_tokens_in_text={}", folder.special_tokens_in_text),
      fmt::format("--max_seq_length={}", length),
      fmt::format("--max_predictions_per_seq={}", most),
      "--invalid_utf8=" + o.inference.invalid_utf8,
      "--memory=" + o.inference.memory,
      fmt::format("--threads={}", o.inference.threads),
      "--dupe_factor=1"};
  if (folder.strip_accents)
    flags.push_back(fmt::format("--strip_accents={}", *folder.strip_accents));
  std::vector<std::string_view> args(flags.begin(), flags.end());
  std::ostringstream report;
  kPrepareCommand.run(args, report);
}

void run_evaluate(Args args, std::ostream& out) {
  EvaluateFlags o;
  if (wants_help(args)) return print_help(kEvaluateCommand, o.each(), out);
  parse_only_options(args, o.each());
  require_between("eval_batch_size", o.eval_batch_size, 1, kMaxBatchSize);
  require_between("max_eval_steps", o.max_eval_steps, 0, std::numeric_limits<int64_t>::max());
  if (is_text_for(o.inference)) {
    if (o.inference.skip_corrupt) {
      throw usage_error("--skip_corrupt has no effect here: it is for records, and {} is text",
                        o.inference.input_file);
    }
    prepare_text(o);
    o.inference.input_file = kRecords;
  }
  TrainedModel model(o.inference, "dev", o.eval_batch_size);
  EvaluationResult result = model.run(true, o.max_eval_steps, {});
  log_line("{} rows in {:.1f} s", result.rows, result.seconds);
  if (auto loss = result.scores.find("masked_lm_loss"); loss != result.scores.end()) {
    result.scores["masked_lm_perplexity"] = std::exp(loss->get<double>());
  }
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
    "bertrain evaluate --model_dir=run/model --input_file='held-out/*.tfrecord' --json\n"
    "bertrain evaluate --model_dir=pretrained --input_file=held-out.txt",
    run_evaluate};

}  // namespace bertrain
