// From a model folder to a runner of its task.
#include "cli/trained_model.h"

#include <utility>

#include "base/checked_json.h"
#include "base/error.h"
#include "base/machine.h"
#include "cli/devices.h"
#include "cli/load_report.h"
#include "cli/model_fit.h"
#include "cli/model_source.h"
#include "cli/tagging_options.h"
#include "cli/task_flags.h"
#include "cli/training_options.h"
#include "formats/rows.h"
#include "storage/storage.h"
#include "task/inference/fill_mask.h"
#include "task/recorded.h"
#include "train/signals.h"

namespace bertrain {
namespace {

ClassificationOptions row_options(const InferenceOptions& o, const std::string& split) {
  ClassificationOptions rows;
  (split == "dev" ? rows.dev_file : rows.test_file) = o.input_file;
  rows.text_column = o.text_column;
  rows.text_b_column = o.text_b_column;
  rows.label_column = o.label_column;
  rows.id_column = o.id_column;
  rows.format = o.format;
  rows.header = o.header;
  rows.bad_rows = o.bad_rows;
  rows.invalid_utf8 = o.invalid_utf8;
  rows.long_text = o.long_text;
  rows.doc_stride = o.squad.doc_stride;
  return rows;
}

// Records to score had their texts read and cut when they were made.
void refuse_for_records(InferenceOptions o) {
  if (!is_recorded(o.input_file, nullptr)) return;
  std::string why =
      fmt::format("{} has records, whose texts are read and cut already", o.input_file);
  if (o.squad.doc_stride != 0) throw usage_error("--doc_stride has no effect here: {}", why);
  auto values = [](InferenceOptions& of) {
    return options_to_json([&](OptionVisitor& v) { of.each(v); });
  };
  InferenceOptions untouched;
  refuse_text_flags(values(o), values(untouched), why);
}

}  // namespace

InferenceOptions from_standard_input() {
  InferenceOptions options;
  options.input_file.push_back('-');
  return options;
}

void InferenceOptions::each(OptionVisitor& v) {
  v("model_dir", model_dir, "model folder, or the run that made it");
  v("input_file", input_file,
    "rows (TSV, CSV or JSON lines; - is standard input); of squad its JSON, of a tagger CoNLL "
    "columns; for a pre-trained model text or TFRecords to score (evaluate), or lines with [MASK] "
    "to fill (predict)");
  v("text_column", text_column, "column of the text (default: as in training)");
  v("text_b_column", text_b_column, "column of the second text (default: as in training)");
  v("label_column", label_column, "column of the known label (default: as in training)");
  v("id_column", id_column, "column that names a row (default: as in training)");
  tagging.each(v);
  choice.each(v);
  v("header", header, "the first line names the columns; if not given, as in training");
  v("format", format, "tsv, csv or jsonl (default: by the name's ending, else as in training)");
  v("long_text", long_text, kLongTextHelp);
  v("bad_rows", bad_rows,
    "rows that cannot be read, or lack a label that is needed: fail, or skip with a count");
  v("invalid_utf8", invalid_utf8, "bytes that are not UTF-8: error, replace or ignore");
  v("skip_corrupt", skip_corrupt, "pass over damaged records, with a count");
  squad.each(v, false);
  v("device", device,
    "cpu, gpu, tpu, plugin:PATH (a PJRT plugin) or reference (plain loops, for checking)");
  v("replicas", replicas, "devices of a plugin to use; 0: all (of one for the CPU, one)");
  v("dtype", dtype, "fp32 or bf16 activations");
  v("threads", threads, "0: as many as the machine or its cgroup allows");
  v("memory", memory, "limit as 8GiB or 75%; empty: 80% of what the machine or cgroup allows");
}

void refuse_idle_options(const InferenceOptions& o, std::string_view task) {
  auto refuse = [&](bool given, std::string_view option, std::string_view why) {
    if (given) throw usage_error("--{} has no effect here: {}", option, why);
  };
  bool pretrained = task == "pretraining";
  refuse((pretrained || task == "tagging") && o.squad.doc_stride != 0, "doc_stride",
         "it is for models that answer questions, and for texts in windows");
  if (task == "multiple_choice") {
    const std::string_view why = "the model chooses among texts, of which the beginning is read";
    refuse(!o.long_text.empty(), "long_text", why);
    refuse(o.squad.doc_stride != 0, "doc_stride", why);
  } else {
    refuse(!o.choice.choice_columns.empty(), "choice_columns",
           "it is for models of multiple choice");
  }
  if (task != "squad") {
    SquadOptions given = o.squad, untouched;
    given.doc_stride = 0;  // of texts in windows too
    auto values = [](SquadOptions& of) {
      return options_to_json([&](OptionVisitor& v) { of.each(v, false); });
    };
    Json found = values(given), defaults = values(untouched);
    for (const auto& [name, value] : found.items()) {
      refuse(value != defaults[name], name, "it is for models that answer questions");
    }
  }
  if (!pretrained) {
    refuse(o.skip_corrupt, "skip_corrupt", "it is for records, which this model does not read");
    refuse(o.top_k != kTopK, "top_k", "it is for what a pre-trained model puts in [MASK]");
  }
  if (pretrained || task == "squad") {
    const std::string_view why =
        pretrained
            ? "the model is a pre-trained one, which reads lines of text or records, no table"
            : "the model answers questions, and reads SQuAD's JSON and no table";
    refuse(!o.text_column.empty(), "text_column", why);
    refuse(!o.text_b_column.empty(), "text_b_column", why);
    refuse(!o.label_column.empty(), "label_column", why);
    refuse(!o.id_column.empty(), "id_column", why);
    refuse(!o.format.empty(), "format", why);
    refuse(o.header.has_value(), "header", why);
    refuse(!o.long_text.empty(), "long_text", why);
    refuse(o.bad_rows != InferenceOptions().bad_rows, "bad_rows", why);
  }
  if (!pretrained || !is_named_as_rows(o.input_file)) return;
  throw usage_error(
      "--input_file={}: by its name a table, and the model is a pre-trained one, which reads lines "
      "of text or records: finetune makes a model that labels rows; for the texts alone, write "
      "them to a file of one text a line (.txt)",
      o.input_file);
}

TrainedModel::TrainedModel(const InferenceOptions& options, std::string split, int64_t batch_size) {
  open(options, std::move(split), batch_size, nullptr);
}

TrainedModel::TrainedModel(const InferenceOptions& options, int64_t batch_size,
                           const MakeTask& make) {
  open(options, "test", batch_size, make);
}

void TrainedModel::open(const InferenceOptions& o, std::string split, int64_t batch_size,
                        const MakeTask& make) {
  if (o.model_dir.empty()) throw usage_error("--model_dir is needed: a model folder, or a run");
  if (o.input_file.empty()) throw usage_error("--input_file is needed");
  require_between("threads", o.threads, 0, kMaxThreads);
  require_between("replicas", o.replicas, 0, kMaxReplicas);
  use_threads(o.threads);
  std::optional<std::string> path = find_model_folder(o.model_dir);
  if (!path) throw error("--model_dir={}: no model folder (there is no config.json)", o.model_dir);
  folder_ = *path;
  ModelFolder folder = read_model_folder(*path);
  description_ = task_of(folder, *path);
  if (description_.is_null() && !make) {
    throw error("{} does not say what task it is for; finetune makes a model for one", *path);
  }
  if (!make) {
    refuse_idle_options(o, JsonValue(description_, task_file(*path), "task").at("task").text());
    if (split == "dev" && !is("pretraining")) refuse_for_records(o);
  }
  TaskOptions task;
  task.config = config_of(folder, *path);
  task.tokenizer = tokenizer_of(folder, *path);
  task.tokenizer->vocabulary().check_fits(task.config.vocab_size, *path);
  warn_of_spare_rows(task.tokenizer->vocabulary(), task.config, *path);
  require_casing(*task.tokenizer, folder.says_casing);
  require_padding(*task.tokenizer, task.config, join_path(*path, "config.json"));
  require_heads(*path, task.config, join_path(*path, "config.json"));
  task.classification = row_options(o, split);
  task.choice = o.choice;
  task.choice.table = task.classification;
  task.squad = o.squad;
  (split == "dev" ? task.squad.dev_file : task.squad.test_file) = o.input_file;
  if (!make && is("tagging")) {
    task.tagging = tagging_of(task.classification, o.tagging);
  } else {
    refuse_tag_columns(o.tagging, make ? "another" : description_["task"].dump());
  }
  task.pretraining.eval_file = o.input_file;
  task.pretraining.skip_corrupt = o.skip_corrupt;
  task.described_in = task_file(*path);
  if (make) {
    task_ = make(task);
  } else if (split == "test" && is("pretraining")) {
    FillMaskOptions masks{o.input_file, o.invalid_utf8, o.top_k, 0};
    task_ = make_fill_mask(masks, task.config, *task.tokenizer);
  } else {
    task_ = make_described_task(description_, task);
  }
  EvaluationSize size;
  size.choice.batch_size = batch_size;
  Machine machine = open_machine(o.device, o.memory, o.replicas, task.config, false);
  backend_ = std::move(machine.backend);
  size.choice.memory = machine.memory.bytes;
  size.choice.of_device = machine.memory.of_device;
  state_ = std::make_unique<State>(*backend_, parameters_of(*task_));
  state_->initialise(0);
  load_weights(*state_, *path, true);
  runner_ = std::make_unique<EvaluationRunner>(*task_, *state_,
                                               compute_type(usable_dtype(o.device, o.dtype)));
  bool scores = split == "dev";
  size.flag = scores ? "eval_batch_size" : "predict_batch_size";
  size.may_be_sampled = scores || !is_read_once(o.input_file);  // rows to score are in memory
  evaluate_ = evaluation_of(*task_, *backend_, *runner_, std::move(split), size);
}

EvaluationResult TrainedModel::run(bool score, int64_t max_batches,
                                   const std::function<void(const Example&)>& on_row) {
  evaluate_.max_batches = max_batches;
  return evaluate(*task_, *runner_, evaluate_, score, on_row);
}

}  // namespace bertrain
