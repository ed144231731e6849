// Files to windows, windows to a loss; what a model was trained with is kept beside it.
#include "task/squad/squad_task.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/checked_json.h"
#include "base/error.h"
#include "base/log.h"
#include "model/bert.h"
#include "model/heads.h"
#include "storage/storage.h"
#include "task/encoder_inputs.h"
#include "task/share.h"
#include "task/squad/recorded_windows.h"
#include "task/squad/span_counts.h"
#include "task/squad/span_loss.h"
#include "task/squad/squad_rows.h"
#include "tensor/ops/ops.h"

namespace bertrain {
namespace {

constexpr int64_t kMost = INT32_MAX;

ScoreUnit parse_unit(const std::string& text) {
  if (text.empty() || text == "word") return ScoreUnit::word;
  if (text == "character") return ScoreUnit::character;
  throw usage_error("--score_unit={}: word or character expected", text);
}

double parse_threshold(const std::string& text) {
  double value = 0;
  const char* last = text.data() + text.size();
  auto [end, code] = std::from_chars(text.data(), last, value);
  if (code != std::errc() || end != last || !std::isfinite(value)) {
    throw usage_error("--null_score_diff_threshold={}: a finite number expected", text);
  }
  return value;
}

// The first questions, and a share of them that is the same whatever stands around.
void keep_part(SquadData& data, int64_t limit, double fraction) {
  auto& questions = data.questions;
  if (limit > 0 && std::ssize(questions) > limit) {
    questions.resize(static_cast<size_t>(limit));
    data.contexts.erase(data.contexts.begin() + questions.back().context + 1, data.contexts.end());
  }
  std::erase_if(questions, [&](const SquadQuestion& question) {
    return !is_in_share(question.id + '\0' + question.text, fraction, Draw::trained);
  });
  data.impossible = static_cast<uint64_t>(std::ranges::count_if(
      questions, [](const SquadQuestion& question) { return question.is_impossible; }));
}

class SquadTask final : public Task {
 public:
  SquadTask(SquadOptions options, const BertConfig& config,
            std::shared_ptr<const Tokenizer> tokenizer, const Json* description,
            const std::string& described_in)
      : options_(std::move(options)), config_(config), tokenizer_(std::move(tokenizer)) {
    int64_t asked_stride = options_.doc_stride;
    if (description) take(JsonValue(*description, described_in, "task"));
    if (!options_.input_meta_data_path.empty()) take_meta_data();
    set_defaults();
    check_options();
    say_stride(asked_stride);
    refuse_records({meta_ ? "" : options_.train_file, options_.dev_file, options_.test_file});
    load();
  }

  std::vector<std::string> splits() const override {
    std::vector<std::string> names;
    if (recorded_) names.emplace_back("train");
    for (const auto& [split, file] : files_) {
      if (file) names.emplace_back(split);
    }
    return names;
  }

  Schema schema() const override {
    Field position = {DType::i32, Axis::example, {}};
    return {{"start_position", position}, {"end_position", position}};
  }
  std::vector<LossTerm> terms() const override {
    return {{"span_loss", Axis::example, "example_weight", 0}};
  }

  ExampleStream examples(std::string_view split) const override {
    if (recorded_ && split == "train") return stream(recorded_);
    std::shared_ptr<const SquadFile> file = find(split);
    if (!file) throw error("there are no examples for '{}': no file was given for it", split);
    return stream(std::move(file));
  }
  std::optional<uint64_t> count(std::string_view split) const override {
    if (recorded_ && split == "train") return recorded_->size();
    std::shared_ptr<const SquadFile> file = find(split);
    return file ? std::optional(file->size()) : std::nullopt;
  }
  std::unique_ptr<TargetCounts> target_counts() const override { return make_squad_counts(); }
  std::string row_name(int64_t row) const override {
    if (recorded_) return recorded_->id(static_cast<uint64_t>(row));
    return find("train")->data().questions.at(static_cast<size_t>(row)).id;
  }
  int64_t max_seq_length() const override { return options_.max_seq_length; }
  int64_t max_targets() const override { return 0; }
  int64_t padded_length() const override {
    return options_.span_loss == "padded" ? options_.max_seq_length : 0;
  }

  Outputs build(const Scope& scope, const Inputs& batch) const override {
    Tensor hidden = bert(scope, config_, encoder_slots(batch));  // [R, S, H]
    Spans found =
        spans(span_logits(scope, hidden), batch.at("example"), batch.at("first_slot"),
              options_.max_seq_length, batch.at("start_position"), batch.at("end_position"));
    return {{{"span_loss", found.loss}},
            {{"start_logits", found.start_logits}, {"end_logits", found.end_logits}}};
  }

  std::unique_ptr<Rows> rows() const override {
    return make_squad_rows([this](std::string_view split) -> const SquadFile& {
      std::shared_ptr<const SquadFile> file = find(split);
      check(file != nullptr, "rows are of a file that is there");
      return *file;  // which the task holds
    });
  }
  std::unique_ptr<Scorer> scorer() const override {
    std::shared_ptr<const SquadFile> dev = find("dev");
    // What 1.1's scores know nothing of is scored as 2.0.
    bool version_2 = answers_.version_2_with_negative || (dev && dev->data().impossible > 0);
    return make_squad_scorer(std::move(dev), version_2, parse_unit(options_.score_unit));
  }

  Json describe() const override {
    return {{"task", "squad"},
            {"max_seq_length", options_.max_seq_length},
            {"doc_stride", options_.doc_stride},
            {"max_query_length", options_.max_query_length},
            {"n_best_size", options_.n_best_size},
            {"max_answer_length", options_.max_answer_length},
            {"version_2_with_negative", answers_.version_2_with_negative},
            {"null_score_diff_threshold", answers_.null_score_diff_threshold},
            {"score_unit", options_.score_unit}};
  }

 private:
  std::shared_ptr<const SquadFile> find(std::string_view split) const {
    for (const auto& [name, file] : files_) {
      if (name == split) return file;
    }
    return nullptr;
  }
  void take(const JsonValue& description);
  void set_defaults();
  void check_options() const;
  void say_stride(int64_t asked) const;
  void load();
  void require_answers(const std::string& file, uint64_t impossible) const;
  void take_meta_data();
  void load_recorded();
  SquadData read(const std::string& uri, SquadUse use) const;
  void add(const char* split, SquadData data);

  SquadOptions options_;
  BertConfig config_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  SquadAnswerOptions answers_;
  std::vector<std::pair<std::string, std::shared_ptr<const SquadFile>>> files_;  // by split
  std::optional<MetaData> meta_;                     // of records to train on
  bool version_2_by_meta_ = false;                   // no option says it
  std::shared_ptr<const RecordedWindows> recorded_;  // null: none
};

void SquadTask::take(const JsonValue& description) {
  auto fill = [&](int64_t& option, const char* key, int64_t most) {
    if (option != 0) return;
    if (auto found = description.find(key)) option = found->integer(1, most);
  };
  fill(options_.max_seq_length, "max_seq_length", config_.positions());
  fill(options_.doc_stride, "doc_stride", kMost);
  fill(options_.max_query_length, "max_query_length", kMost);
  fill(options_.n_best_size, "n_best_size", kMost);
  fill(options_.max_answer_length, "max_answer_length", kMost);
  if (auto found = description.find("version_2_with_negative");
      found && !options_.version_2_with_negative) {
    options_.version_2_with_negative = found->truth();
  }
  if (auto found = description.find("null_score_diff_threshold");
      found && options_.null_score_diff_threshold.empty()) {
    if (!found->json().is_number()) found->fail("a number");
    options_.null_score_diff_threshold = found->json().dump();
  }
  if (auto found = description.find("score_unit"); found && options_.score_unit.empty()) {
    options_.score_unit = found->text();
    if (options_.score_unit != "word" && options_.score_unit != "character") {
      found->fail("\"word\" or \"character\"");
    }
  }
}

void SquadTask::set_defaults() {
  auto fill = [](int64_t& option, int64_t value) { option = option == 0 ? value : option; };
  fill(options_.max_seq_length, std::min<int64_t>(384, config_.positions()));
  fill(options_.doc_stride, 128);
  fill(options_.max_query_length, 64);
  fill(options_.n_best_size, 20);
  fill(options_.max_answer_length, 30);
  if (options_.score_unit.empty()) options_.score_unit = "word";
  answers_.n_best_size = options_.n_best_size;
  answers_.max_answer_length = options_.max_answer_length;
  if (!options_.null_score_diff_threshold.empty()) {
    answers_.null_score_diff_threshold = parse_threshold(options_.null_score_diff_threshold);
  }
}

void SquadTask::check_options() const {
  for (auto [name, value] : {std::pair("max_seq_length", options_.max_seq_length),
                             std::pair("doc_stride", options_.doc_stride),
                             std::pair("max_query_length", options_.max_query_length),
                             std::pair("n_best_size", options_.n_best_size),
                             std::pair("max_answer_length", options_.max_answer_length)}) {
    if (value < 1 || value > kMost) {
      throw usage_error("--{}={}: a number from 1 to {} expected", name, value, kMost);
    }
  }
  check_data_options(options_, config_.positions());
  if (options_.span_loss != "tokens" && options_.span_loss != "padded") {
    throw usage_error("--span_loss={}: tokens or padded expected", options_.span_loss);
  }
  parse_unit(options_.score_unit);
  if (config_.type_vocab_size < 2) {
    throw usage_error(
        "question and context need two token types, and the model's type_vocab_size is {}",
        config_.type_vocab_size);
  }
}

// What run_squad.py takes without a word: windows are never farther apart than they are wide.
void SquadTask::say_stride(int64_t asked) const {
  constexpr int64_t kAround = 4;  // [CLS], a piece of the question, [SEP] and [SEP]
  if (asked <= options_.max_seq_length - kAround) return;
  log_line(
      "--doc_stride={}: --max_seq_length={} has room for fewer pieces of a context, so that "
      "windows stand side by side",
      asked, options_.max_seq_length);
}

SquadData SquadTask::read(const std::string& uri, SquadUse use) const {
  SquadData data = read_squad(uri, use);
  // Each question to answer has its row.
  keep_part(data, use == SquadUse::prediction ? 0 : options_.limit,
            use == SquadUse::training ? options_.train_fraction : 1);
  return data;
}

void SquadTask::add(const char* split, SquadData data) {
  SquadFeatureOptions features = {.max_seq_length = options_.max_seq_length,
                                  .doc_stride = options_.doc_stride,
                                  .max_query_length = options_.max_query_length};
  files_.emplace_back(
      split, std::make_shared<const SquadFile>(split, std::move(data), tokenizer_, features,
                                               answers_, split == std::string("train")));
}

void SquadTask::load() {
  for (const std::string& file : {options_.train_file, options_.dev_file}) {
    if (!options_.train_file.empty() && !file.empty()) require_rereadable(file);
  }
  std::vector<std::pair<const char*, SquadData>> read_files;
  auto one = [&](const char* split, const std::string& file, SquadUse use) {
    if (!file.empty()) read_files.emplace_back(split, read(file, use));
  };
  if (meta_) {
    load_recorded();
  } else {
    one("train", options_.train_file, SquadUse::training);
  }
  one("dev", options_.dev_file, SquadUse::scoring);
  one("test", options_.test_file, SquadUse::prediction);
  bool has_impossible = recorded_ ? recorded_->impossible() > 0
                                  : !read_files.empty() && read_files.front().second.impossible > 0;
  answers_.version_2_with_negative = options_.version_2_with_negative.value_or(has_impossible);
  if (recorded_) require_answers(options_.train_file, recorded_->impossible());
  for (auto& [split, data] : read_files) {
    bool trains = split == std::string("train");
    if (trains) require_answers(data.name, data.impossible);
    std::string name = data.name;
    add(split, std::move(data));
    if (trains && files_.back().second->size() == 0) {
      throw error("{}: no question with a context is left to train on", name);
    }
  }
}

// Of questions to train on, where no answer is none.
void SquadTask::require_answers(const std::string& file, uint64_t impossible) const {
  if (impossible == 0 || answers_.version_2_with_negative) return;
  if (version_2_by_meta_) {
    throw error(
        "{}: version_2_with_negative is false, and {} has {} questions without an answer, which "
        "1.1 does not know; --version_2_with_negative takes them",
        meta_->file, file, impossible);
  }
  throw usage_error(
      "--noversion_2_with_negative: {} has {} questions without an answer, which 1.1 does not know",
      file, impossible);
}

void SquadTask::take_meta_data() {
  meta_ = read_training_meta_data(options_, 0, 0, "squad", *tokenizer_, config_);
  // What the records were cut by is not to be chosen any more.
  auto same = [&](const char* key, int64_t asked) {
    if (asked == 0 || asked == meta_->description.value(key, asked)) return;
    throw usage_error("--{}={}: the records of {} were made with {}", key, asked, meta_->file,
                      meta_->description[key].dump());
  };
  same("doc_stride", options_.doc_stride);
  same("max_query_length", options_.max_query_length);
  version_2_by_meta_ = !options_.version_2_with_negative;
  take(JsonValue(meta_->description, meta_->file, "description"));
}

void SquadTask::load_recorded() {
  const std::string& file = options_.train_file;
  require_records(file, *meta_);
  RecordedReader reader =
      open_recorded(file, &*meta_, options_.max_seq_length, *tokenizer_, config_);
  auto recorded = std::make_shared<const RecordedWindows>(reader, options_.limit);
  if (options_.limit == 0) require_rows(file, recorded->size(), meta_->train_rows, *meta_);
  log_line("{}: {} recorded windows of {} questions", file, recorded->size(),
           recorded->questions());
  recorded_ = recorded;
}

}  // namespace

std::unique_ptr<Task> make_squad(const SquadOptions& options, const BertConfig& config,
                                 std::shared_ptr<const Tokenizer> tokenizer,
                                 const Json* description, const std::string& described_in) {
  return std::make_unique<SquadTask>(options, config, std::move(tokenizer), description,
                                     described_in);
}

}  // namespace bertrain
