// From rows of choices to the softmax over them.
#include "task/choice/choice.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/checked_json.h"
#include "base/error.h"
#include "base/log.h"
#include "model/bert.h"
#include "model/heads.h"
#include "storage/storage.h"
#include "task/choice/choice_data.h"
#include "task/choice/choice_stream.h"
#include "task/encoder_inputs.h"
#include "task/meta_data.h"
#include "task/recorded.h"
#include "task/share.h"
#include "task/table/table_options.h"
#include "task/table/target.h"
#include "tensor/ops/ops.h"

namespace bertrain {
namespace {

constexpr double kNoChoice = -1e30;  // a logit whose softmax is 0

class Choice final : public Task {
 public:
  Choice(ChoiceOptions options, const BertConfig& config,
         std::shared_ptr<const Tokenizer> tokenizer, const Json* description,
         const std::string& described_in)
      : options_(std::move(options)),
        test_labels_(options_.table.train_file.empty() && !options_.table.label_column.empty()
                         ? ChoiceLabels::sought
                         : ChoiceLabels::optional),
        config_(config),
        tokenizer_(std::move(tokenizer)) {
    if (description) take(JsonValue(*description, described_in, "task"));
    if (!table().input_meta_data_path.empty()) take_meta_data();
    question_optional_ = table().text_b_column.empty();
    auto fill = [](std::string& option, const char* usual) {
      if (option.empty()) option = usual;
    };
    fill(table().text_column, "sent1");
    fill(table().text_b_column, "sent2");
    fill(table().label_column, "label");
    fill(options_.choice_columns, "ending");
    if (table().max_seq_length == 0) {
      table().max_seq_length = std::min<int64_t>(128, config_.positions());
    }
    if (config_.family != Family::bert) {
      throw usage_error("--task=multiple_choice is for BERT: a RoBERTa has another head for it");
    }
    check_ranges(table(), config_.positions());
    if (config_.type_vocab_size < tokenizer_->special().segments) {
      throw usage_error(
          "context and choice need two token types, and the model's type_vocab_size is {}",
          config_.type_vocab_size);
    }
    encoder_ = std::make_shared<PairEncoder>(*tokenizer_, table().max_seq_length, true);
    refuse_records({meta_ ? "" : table().train_file, table().test_file});
    load();
    Json labels = Json::array();
    for (int64_t i = 0; i < places_; ++i) labels.push_back(std::to_string(i));
    Json known = {{"labels", std::move(labels)}};
    target_ = make_single_label({});
    target_->take(JsonValue(known, "the choices"));
  }

  std::vector<std::string> splits() const override {
    std::vector<std::string> names;
    for (const auto& [split, data] : data_) names.push_back(split);
    if (!table().test_file.empty()) names.emplace_back("test");
    return names;
  }

  Schema schema() const override {
    return {{"choice", {DType::i32, Axis::slot, {}}},
            {"choice_position", {DType::i32, Axis::slot, {}}},
            {"choice_first", {DType::i32, Axis::example, {places_}}},
            {"choice_there", {DType::f32, Axis::example, {places_}}},
            {"label", {DType::i32, Axis::example, {}}}};
  }
  std::vector<LossTerm> terms() const override { return {target_->term()}; }

  ExampleStream examples(std::string_view split) const override {
    if (split == "test" && !table().test_file.empty()) {
      bool once = is_read_once(table().test_file);
      check(!once || pipe_, "a pipe is read once: its lengths cannot be sampled before");
      auto reader = once ? std::move(pipe_) : open(table().test_file, test_labels_);
      return stream_choices(std::move(reader), encoder_, places_, told_, once);
    }
    auto data = find(split);
    if (!data) throw error("there are no examples for '{}': no file was given for it", split);
    return stream(std::move(data), places_);
  }
  std::optional<uint64_t> count(std::string_view split) const override {
    auto data = find(split);
    return data ? std::optional(data->size()) : std::nullopt;
  }
  std::unique_ptr<TargetCounts> target_counts() const override { return target_->counts(); }
  std::string row_name(int64_t row) const override {
    auto train = find("train");
    return train ? train->place(row) : std::to_string(row);
  }

  int64_t max_seq_length() const override { return table().max_seq_length * places_; }
  int64_t max_targets() const override { return 0; }

  Outputs build(const Scope& scope, const Inputs& batch) const override {
    Tensor hidden = bert(scope, config_, choice_slots(batch));  // [R, S, H]
    Tensor first = batch.at("choice_first");                    // [E, N]
    Graph& graph = first.graph();
    const Shape& shape = first.shape();
    Tensor slot = reshape(broadcast(batch.at("first_slot"), shape, {0}) + first, {-1});
    Tensor number = broadcast(batch.at("example_number"), shape, {0});
    number =
        reshape(multiply(number, full(graph, shape, static_cast<double>(places_), DType::u32)) +
                    iota(graph, shape, 1, DType::u32),
                {-1});
    ClassifierHead head{1, table().classifier_dropout};
    Tensor pooled = classifier_input(scope, config_, head, hidden, slot, number);    // [E·N, H]
    Tensor logits = reshape(classifier_logits(scope, head, pooled, number), shape);  // [E, N]
    Tensor there = compare(batch.at("choice_there"), full(graph, shape, 0), Compare::greater);
    return target_->build(scope.training(), select(there, logits, full(graph, shape, kNoChoice)),
                          batch);
  }

  std::unique_ptr<Rows> rows() const override { return target_->rows(); }
  std::unique_ptr<Scorer> scorer() const override { return target_->scorer(); }

  Json describe() const override {
    Json description = {{"task", "multiple_choice"}};
    target_->describe(description);
    description.update(
        {{"text_column", table().text_column},
         {"text_b_column", table().text_b_column},
         {"text_b_optional", question_optional_},
         {"choice_columns", options_.choice_columns},
         {"label_column", table().label_column},
         {"id_column", table().id_column},
         {"header", table().header.value_or(true)},
         {"format", table().format.empty() ? table().trained_format : table().format},
         {"max_seq_length", table().max_seq_length},
         {"classifier_dropout", table().classifier_dropout}});
    return description;
  }

 private:
  ClassificationOptions& table() { return options_.table; }
  const ClassificationOptions& table() const { return options_.table; }

  // Every choice as an example of its own: attention, positions and random numbers are by these.
  Slots choice_slots(const Inputs& batch) const {
    Slots slots = encoder_slots(batch);
    Tensor choice = batch.at("choice");  // [R, S]
    Graph& graph = choice.graph();
    const Shape& shape = choice.shape();
    auto places = [&](DType dtype) {
      return full(graph, shape, static_cast<double>(places_), dtype);
    };
    Tensor empty = compare(slots.example, full(graph, shape, 0, DType::i32), Compare::less);
    slots.example =
        select(empty, slots.example, multiply(slots.example, places(DType::i32)) + choice);
    slots.number = multiply(slots.number, places(DType::u32)) + convert(choice, DType::u32);
    slots.position = batch.at("choice_position");
    return slots;
  }

  void take(const JsonValue& description);
  void take_meta_data();
  void add_recorded(const char* split, const std::string& file, std::optional<uint64_t> expected);
  void load();
  std::unique_ptr<ChoiceRowReader> open(const std::string& file, ChoiceLabels labels) const;
  std::vector<ChoiceRow> read(const std::string& file);
  void add(const char* split, const std::string& file, const std::vector<ChoiceRow>& rows);
  void load_train();
  void load_dev();
  void load_test();
  std::shared_ptr<const ChoiceData> find(std::string_view split) const {
    for (const auto& [name, data] : data_) {
      if (name == split) return data;
    }
    return nullptr;
  }

  ChoiceOptions options_;
  // A label column that was named for the rows to predict, and not for those to train on, must be
  // in them.
  ChoiceLabels test_labels_;
  BertConfig config_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  bool question_optional_ = true;  // its column is the usual one, and may be absent
  std::shared_ptr<const PairEncoder> encoder_;
  std::shared_ptr<TextTarget> target_;
  std::vector<std::pair<std::string, std::shared_ptr<const ChoiceData>>> data_;  // by split
  std::optional<MetaData> meta_;  // of records to train on
  int64_t places_ = 2;            // choices of a row, at most
  // A test_file that is read once, as far as its columns, until its stream is given out.
  mutable std::unique_ptr<ChoiceRowReader> pipe_;
  std::shared_ptr<ToldOnce> told_ = std::make_shared<ToldOnce>();
};

// What the options leave open is as it was when the model was trained.
void Choice::take(const JsonValue& description) {
  auto fill = [&](std::string& option, const char* key) {
    if (!option.empty()) return;
    if (auto found = description.find(key)) option = found->text();
  };
  fill(table().text_column, "text_column");
  auto optional = description.find("text_b_optional");
  if (!optional || !optional->truth()) fill(table().text_b_column, "text_b_column");
  fill(table().label_column, "label_column");
  fill(table().id_column, "id_column");
  if (auto found = description.find("header"); found && !table().header) {
    table().header = found->truth();
  }
  fill(table().trained_format, "format");
  if (!table().trained_format.empty() && !is_row_format(table().trained_format)) {
    description.at("format").fail("tsv, csv or jsonl");
  }
  fill(options_.choice_columns, "choice_columns");
  if (auto found = description.find("max_seq_length"); found && table().max_seq_length == 0) {
    table().max_seq_length = found->integer(1, config_.positions());
  }
}

std::unique_ptr<ChoiceRowReader> Choice::open(const std::string& file, ChoiceLabels labels) const {
  ChoiceColumns columns = {table().text_column, table().text_b_column,   table().label_column,
                           table().id_column,   options_.choice_columns, question_optional_};
  RowOptions rows = row_options(table(), table().header.value_or(true), false);
  return std::make_unique<ChoiceRowReader>(file, columns, rows, labels);
}

// Rows to train on or to score.
std::vector<ChoiceRow> Choice::read(const std::string& file) {
  auto reader = open(file, ChoiceLabels::needed);
  std::vector<ChoiceRow> rows;
  ChoiceRow row;
  while ((table().limit == 0 || std::ssize(rows) < table().limit) && reader->next(row)) {
    rows.push_back(std::move(row));
  }
  reader->report();
  places_ = std::max(places_, reader->choices());
  return rows;
}

void Choice::add(const char* split, const std::string& file, const std::vector<ChoiceRow>& rows) {
  auto data = std::make_shared<ChoiceData>(file);
  data->add(rows, *encoder_);
  data->report();
  data_.emplace_back(split, std::move(data));
}

void Choice::load_train() {
  const std::string& file = table().train_file;
  RowDraw draw(file, "row", table().dev_file.empty() ? table().dev_fraction : 0,
               table().train_fraction);
  std::vector<ChoiceRow> train, held;
  for (ChoiceRow& row : read(file)) {
    std::string text = row.context;
    for (const std::string& choice : row.choices) text += '\0' + choice;
    RowDraw::Part part = draw.part_of(text);
    if (part == RowDraw::Part::left_out) continue;
    (part == RowDraw::Part::trained ? train : held).push_back(std::move(row));
  }
  draw.require_rows();
  std::vector<uint64_t> count(static_cast<size_t>(places_));
  for (const ChoiceRow& row : train) ++count.at(static_cast<size_t>(row.label));
  auto most = std::max_element(count.begin(), count.end());
  add("train", file, train);
  log_line("{}: the most frequent label, {}, is {:.1f} % of the rows", file, most - count.begin(),
           100.0 * static_cast<double>(*most) / static_cast<double>(train.size()));
  draw.report_held_out();
  if (!held.empty()) add("dev", file, held);
}

void Choice::take_meta_data() {
  meta_ =
      read_training_meta_data(table(), table().dev_fraction, ClassificationOptions().dev_fraction,
                              "multiple_choice", *tokenizer_, config_);
  take(JsonValue(meta_->description, meta_->file, "description"));
}

void Choice::add_recorded(const char* split, const std::string& file,
                          std::optional<uint64_t> expected) {
  auto data = std::make_shared<ChoiceData>(file);
  RecordedReader reader =
      open_recorded(file, meta_ ? &*meta_ : nullptr, table().max_seq_length, *tokenizer_, config_);
  uint64_t records = data->add(reader, table().limit);
  if (meta_ && table().limit == 0) require_rows(file, records, expected, *meta_);
  places_ = std::max(places_, data->choices());
  data_.emplace_back(split, std::move(data));
}

void Choice::load() {
  if (!table().train_file.empty()) {
    for (const std::string& file : {table().train_file, table().dev_file}) {
      if (!file.empty()) require_rereadable(file);
    }
    if (meta_) {
      require_records(table().train_file, *meta_);
      add_recorded("train", table().train_file, meta_->train_rows);
    } else {
      load_train();
    }
  }
  if (!table().dev_file.empty()) load_dev();
  if (!table().test_file.empty()) load_test();
}

void Choice::load_dev() {
  const std::string& file = table().dev_file;
  // Choices are told by their place alone, so that records are as good with any model.
  if (is_recorded(file, meta_ ? &*meta_ : nullptr))
    return add_recorded("dev", file, meta_ ? meta_->eval_rows : std::nullopt);
  std::vector<ChoiceRow> rows = read(file);
  if (rows.empty()) throw error("{}: there is no row to evaluate on", file);
  add("dev", file, rows);
}

// Is it there, has it the columns, and how many choices has a row?
void Choice::load_test() {
  auto reader = open(table().test_file, test_labels_);
  places_ = std::max(places_, reader->choices());
  if (is_read_once(table().test_file)) pipe_ = std::move(reader);
}

}  // namespace

std::unique_ptr<Task> make_choice(const ChoiceOptions& options, const BertConfig& config,
                                  std::shared_ptr<const Tokenizer> tokenizer,
                                  const Json* description, const std::string& described_in) {
  return std::make_unique<Choice>(options, config, std::move(tokenizer), description, described_in);
}

}  // namespace bertrain
