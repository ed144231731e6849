// The task's own reading of its files, written down example by example.
#include "cli/prepare_task.h"

#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/machine.h"
#include "cli/prepare_command.h"
#include "cli/task_flags.h"
#include "cli/text_options.h"
#include "formats/tfrecord.h"
#include "storage/storage.h"
#include "task/meta_data.h"
#include "task/recorded.h"
#include "task/table/layouts.h"
#include "task/table/table_source.h"

namespace bertrain {
namespace {

// Records of this length are beyond every model's; a task takes less where it is asked for less.
constexpr int64_t kMostPositions = 1'000'000;

struct PrepareTaskOptions : TaskFlags {
  std::string train_data_output_path, eval_data_output_path, meta_data_file_path;
  TextOptions text;
  int64_t threads = 0;

  EachOption each() {
    return [this](OptionVisitor& v) {
      v("train_data_output_path", train_data_output_path, "TFRecord file of the rows to train on");
      v("eval_data_output_path", eval_data_output_path,
        "the same of those to evaluate on; without it none are held out");
      v("meta_data_file_path", meta_data_file_path,
        "JSON file that says what the records are: finetune's --input_meta_data_path");
      text.each(v);
      TaskFlags::each(v);
      v("threads", threads, "threads; 0 takes what the machine allows");
    };
  }

  void check_values() const {
    check();
    require_between("threads", threads, 0, kMaxThreads);
    for (auto [name, path] : {std::pair("train_data_output_path", train_data_output_path),
                              std::pair("meta_data_file_path", meta_data_file_path)}) {
      if (path.empty()) throw usage_error("--{} is needed with --task", name);
    }
    const TargetOptions& target = classification.target;
    // What concerns training and prediction alone is not in the records.
    const std::pair<bool, const char*> idle[] = {
        {!classification.input_meta_data_path.empty(), "input_meta_data_path"},
        {!classification.test_file.empty(), "test_file"},
        {!target.class_weights.empty(), "class_weights"},
        {target.label_smoothing != 0, "label_smoothing"},
        {classification.classifier_dropout != ClassificationOptions().classifier_dropout,
         "classifier_dropout"},
        {squad.span_loss != SquadOptions().span_loss, "span_loss"},
    };
    for (const auto& [given, name] : idle) {
      if (given) throw usage_error("--{} is for finetune: nothing in the records is by it", name);
    }
    if (task == "squad") return refuse_scored_questions();
    if (!eval_data_output_path.empty()) return;
    if (!classification.dev_file.empty()) {
      throw usage_error("--dev_file={}: --eval_data_output_path is needed: where its records go",
                        classification.dev_file);
    }
    if (classification.dev_fraction == ClassificationOptions().dev_fraction ||
        classification.dev_fraction == 0) {
      return;
    }
    throw usage_error("--dev_fraction={}: --eval_data_output_path is needed: where they go",
                      classification.dev_fraction);
  }

  void refuse_scored_questions() const {
    for (const auto& [name, file] : {std::pair("dev_file", classification.dev_file),
                                     std::pair("eval_data_output_path", eval_data_output_path)}) {
      if (file.empty()) continue;
      throw usage_error(
          "--{}={}: of squad the questions to train on are recorded, and no others, as answers are "
          "scored by the texts of SQuAD's file: give that file to finetune, as --dev_file beside "
          "the records",
          name, file);
    }
  }
};

// A file of records that appears when all are there.
class RecordFile {
 public:
  explicit RecordFile(std::string uri)
      : uri_(std::move(uri)), writer_(storage_for(uri_).create(uri_, Exists::replace)) {}

  void write(const Task& task, std::string_view split, const std::string& kind) {
    RecordMaker maker(kind, task.describe().at("max_seq_length").get<int64_t>());
    ExampleStream examples = task.examples(split);
    bool is_named = kind == "squad";
    while (std::optional<Example> example = examples->next()) {
      std::string name = is_named ? task.row_name(integers(*example, "row").at(0)) : "";
      for (const Example& record : maker.make_all(*example, name)) {
        std::string frame = frame_record(serialize_example(record));
        writer_->append(std::as_bytes(std::span(frame)));
        ++count_;
      }
    }
    writer_->settle();
  }
  void commit() { writer_->commit(); }
  uint64_t count() const { return count_; }
  const std::string& uri() const { return uri_; }

 private:
  std::string uri_;
  std::unique_ptr<Writer> writer_;
  uint64_t count_ = 0;
};

void check_outputs(const PrepareTaskOptions& o) {
  std::vector<std::string> inputs = table_files(o.task_options().classification);
  inputs.push_back(o.text.vocab_file);
  std::vector<std::pair<std::string, std::string>> seen;  // file, as the user named it
  for (const auto& [name, file] : {std::pair("train_data_output_path", o.train_data_output_path),
                                   std::pair("meta_data_file_path", o.meta_data_file_path),
                                   std::pair("eval_data_output_path", o.eval_data_output_path)}) {
    if (file.empty()) continue;
    std::string said_as = fmt::format("--{}={}", name, file);
    if (file == "-") throw usage_error("{}: records and meta data go to files, not to -", said_as);
    refuse_overwriting(file, inputs, said_as);
    for (const auto& [other, other_said_as] : seen) {
      if (!same_object(file, other)) continue;
      throw usage_error("{} and {} are one file: records and meta data need one each",
                        other_said_as, said_as);
    }
    seen.emplace_back(file, said_as);
  }
}

// The reference's name of a benchmark: "SST-2".
std::string processor_of(const std::string& task) {
  if (!find_layout(task)) return "";
  std::string name = task;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return name;
}

std::unique_ptr<Task> task_of(const PrepareTaskOptions& o, const Tokenizer& tokenizer,
                              std::shared_ptr<const Tokenizer> shared) {
  TaskOptions options = o.task_options();
  o.say_limit();
  options.tokenizer = std::move(shared);
  // Of a model only what the rows are cut by is asked.
  options.config.vocab_size = static_cast<int64_t>(tokenizer.vocabulary().size());
  options.config.max_position_embeddings = kMostPositions;
  if (o.eval_data_output_path.empty()) {
    options.classification.dev_fraction = options.choice.table.dev_fraction = 0;
    options.tagging.dev_fraction = 0;
  }
  return make_task(o.kind(), options);
}

}  // namespace

bool names_task(Args args) {
  for (std::string_view arg : args) {
    if (arg == "--") return false;
    std::string_view name = arg.substr(0, arg.find('='));
    if (name == "--task" || name == "-task") return true;
  }
  return false;
}

void run_prepare_task(Args args, std::ostream& out) {
  PrepareTaskOptions o;
  if (wants_help(args)) return print_help(kPrepareCommand, o.each(), out);
  parse_only_options(args, o.each());
  o.check_values();
  check_outputs(o);
  use_threads(o.threads);
  auto tokenizer =
      std::make_shared<const Tokenizer>(o.text.tokenizer({kUnknown, kClassify, kSeparate}));
  std::string kind = o.kind();
  std::unique_ptr<Task> task = task_of(o, *tokenizer, tokenizer);
  RecordFile train(o.train_data_output_path);
  train.write(*task, "train", kind);
  std::unique_ptr<RecordFile> eval;
  std::vector<std::string> splits = task->splits();
  if (!o.eval_data_output_path.empty()) {
    if (std::find(splits.begin(), splits.end(), "dev") == splits.end()) {
      throw error(
          "{}: no row is there to evaluate on; --dev_file or a larger --dev_fraction, or "
          "no --eval_data_output_path, expected",
          o.eval_data_output_path);
    }
    eval = std::make_unique<RecordFile>(o.eval_data_output_path);
    eval->write(*task, "dev", kind);
  }
  for (const std::string& split : splits) {
    if (split == "train" || (split == "dev" && eval)) continue;
    log_line("the rows of '{}' are not recorded{}", split,
             eval ? ": --dev_file of another call takes them"
                  : ", as --eval_data_output_path is not given");
  }
  Json meta = make_meta_data(task->describe(), processor_of(o.task), *tokenizer, train.count(),
                             eval ? std::optional(eval->count()) : std::nullopt);
  auto writer = storage_for(o.meta_data_file_path).create(o.meta_data_file_path, Exists::replace);
  std::string text = meta.dump(4) + "\n";
  writer->append(std::as_bytes(std::span(text)));
  writer->settle();
  // Meta data of an earlier call go first and new ones come last, so that none lie beside the records
  // of another.
  storage_for(o.meta_data_file_path).remove(o.meta_data_file_path);
  train.commit();
  if (eval) eval->commit();
  writer->commit();
  out << fmt::format("wrote {} records to {}{}, meta data to {}\n", train.count(), train.uri(),
                     eval ? fmt::format(" and {} to {}", eval->count(), eval->uri()) : "",
                     o.meta_data_file_path);
}

}  // namespace bertrain
