// From tables of texts to losses of a classifier on the pooled vector.
#include "task/table/classification.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/checked_json.h"
#include "base/error.h"
#include "base/log.h"
#include "base/quote.h"
#include "data/streams.h"
#include "formats/tfrecord.h"
#include "model/bert.h"
#include "model/heads.h"
#include "storage/storage.h"
#include "task/encoder_inputs.h"
#include "task/share.h"
#include "task/table/label_list.h"
#include "task/table/layouts.h"
#include "task/table/long_text.h"
#include "task/table/recorded_texts.h"
#include "task/table/table_options.h"
#include "task/table/table_source.h"
#include "task/table/text_data.h"
#include "task/table/window_rows.h"
#include "tensor/ops/ops.h"
#include "text/unicode.h"

namespace bertrain {
namespace {

class Classification final : public Task {
 public:
  Classification(std::string_view kind, ClassificationOptions from, const BertConfig& config,
                 std::shared_ptr<const Tokenizer> tokenizer, const Json* description,
                 const std::string& described_in)
      : kind_(kind),
        target_(make_target(kind, target_options(from))),
        source_(std::move(from)),
        test_label_optional_(!source_.options().train_file.empty() ||
                             source_.options().label_column.empty()),
        config_(config),
        tokenizer_(std::move(tokenizer)) {
    if (description != nullptr) take(JsonValue(*description, described_in, "task"));
    if (!options().input_meta_data_path.empty()) take_meta_data();
    columns_ = source_.columns("train");
    bool pairs = !columns_.text_b.empty();
    if (options().max_seq_length == 0) {
      int64_t positions = config_.positions(),
              least = PairEncoder::least_length(tokenizer_->special(), pairs);
      if (positions < least) {
        throw usage_error(
            "the model's max_position_embeddings is {}: {} needs {} positions at least, for {}, {} "
            "and a piece each",
            positions, pairs ? "a pair of texts" : "a text", least, tokenizer_->special().classify,
            tokenizer_->special().separate);
      }
      source_.set_max_seq_length(std::min<int64_t>(128, positions));
    }
    if (pairs && config_.type_vocab_size < tokenizer_->special().segments) {
      throw usage_error(
          "--text_b_column={}: a pair of texts needs two token types, and the model's "
          "type_vocab_size is {}; a model with two is needed, or texts in one column",
          columns_.text_b, config_.type_vocab_size);
    }
    check_ranges(options(), config_.positions());
    long_text_ = long_text_of(options());
    encoder_ = std::make_shared<LongTextEncoder>(*tokenizer_, options().max_seq_length, pairs,
                                                 long_text_, options().doc_stride);
    require_stride();
    refuse_records({meta_ ? "" : options().train_file, takes_records() ? "" : options().dev_file,
                    options().test_file});
    load();
  }

  std::vector<std::string> splits() const override {
    std::vector<std::string> names;
    if (train_) names.emplace_back("train");
    for (const auto& [split, data] : dev_) names.push_back(split);
    if (!options().test_file.empty()) names.emplace_back("test");
    return names;
  }

  Schema schema() const override { return target_->schema(); }

  std::vector<LossTerm> terms() const override { return {target_->term()}; }

  ExampleStream examples(std::string_view split) const override {
    if (split == "train" && train_) return stream(train_);
    if (auto dev = find_dev(split)) return stream(dev);
    if (split == "test" && !options().test_file.empty()) {
      bool once = is_read_once(options().test_file);
      if (once) {
        check(!input_taken_, "a pipe is read once: its lengths cannot be sampled before");
        input_taken_ = true;
      }
      return stream_texts(open_test(), encoder_, target_, told_, once);
    }
    throw error("there are no examples for '{}': no file was given for it", split);
  }

  std::optional<uint64_t> count(std::string_view split) const override {
    if (split == "train" && train_) return train_->size();
    if (auto dev = find_dev(split)) return dev->size();
    return std::nullopt;
  }

  std::unique_ptr<TargetCounts> target_counts() const override { return target_->counts(); }
  std::string row_name(int64_t row) const override {
    return train_ ? train_->place(row) : std::to_string(row);
  }

  int64_t max_seq_length() const override { return options().max_seq_length; }
  int64_t max_targets() const override { return 0; }

  Outputs build(const Scope& scope, const Inputs& batch) const override {
    Tensor hidden = bert(scope, config_, encoder_slots(batch));  // [R, S, H]
    ClassifierHead head{target_->outputs(), options().classifier_dropout};
    Tensor number = batch.at("example_number");
    Tensor pooled =
        classifier_input(scope, config_, head, hidden, batch.at("first_slot"), number);  // [E, H]
    Tensor logits = classifier_logits(scope, head, pooled, number);                      // [E, C]
    return target_->build(scope.training(), logits, batch);
  }

  std::unique_ptr<Rows> rows() const override {
    return long_text_ == LongText::windows ? make_window_rows(target_) : target_->rows();
  }
  std::unique_ptr<Scorer> scorer() const override { return target_->scorer(); }

  Json describe() const override {
    Json description = {{"task", kind_}};
    target_->describe(description);
    source_.describe(description);
    description.update({{"max_seq_length", options().max_seq_length},
                        {"long_text", name_of(long_text_)},
                        {"classifier_dropout", options().classifier_dropout}});
    if (options().doc_stride > 0) description["doc_stride"] = options().doc_stride;
    return description;
  }

 private:
  // The classes in the benchmark's order, where no other was asked for.
  static TargetOptions target_options(const ClassificationOptions& o) {
    TargetOptions target = o.target;
    const TableLayout* layout = find_layout(o.layout);
    if (!layout || !target.labels.empty()) return target;
    target.labels = layout->labels;
    target.benchmark = layout->name;
    if (layout->numbers) std::tie(target.least, target.most) = *layout->numbers;
    return target;
  }
  static std::shared_ptr<TextTarget> make_target(std::string_view kind, const TargetOptions& o) {
    if (kind != "multilabel" && o.label_separator != TargetOptions().label_separator) {
      throw usage_error(
          "--label_separator={}: --task={} has one label a row, which is not cut; "
          "--task=multilabel takes any number",
          quote(o.label_separator), kind);
    }
    if (kind == "multilabel") return make_multi_label(o);
    if (kind == "regression") return make_regression(o);
    check(kind == "classification", "a kind of label");
    return make_single_label(o);
  }
  const ClassificationOptions& options() const { return source_.options(); }
  void take(const JsonValue& description);
  void require_stride() const;
  void load();
  void load_dev(const TableSource::Table& table);
  std::unique_ptr<TextRowReader> open(const std::string& file, std::string_view split) const;
  std::unique_ptr<TextRowReader> open_test() const;
  std::shared_ptr<TextData> find_dev(std::string_view split) const {
    for (const auto& [name, data] : dev_) {
      if (name == split) return data;
    }
    return nullptr;
  }
  std::string label_fault(const TextRow& row) const;
  void refuse_pipes() const;
  void load_train();
  void take_meta_data();
  // Whether a file to evaluate on may have numbers of labels, which records of other rows may have in
  // another order than these.
  bool takes_records() const { return meta_ || options().train_file.empty(); }
  std::shared_ptr<TextData> read_recorded(const std::string& file,
                                          std::optional<uint64_t> expected) const;
  void load_recorded_train();
  void weigh();

  std::string kind_;
  std::shared_ptr<TextTarget> target_;
  TableSource source_;
  // A label column that was named for the rows to predict, and not for those to train on, must be
  // in them.
  bool test_label_optional_;
  BertConfig config_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  TextColumns columns_;  // of the table to train on
  LongText long_text_ = LongText::head;
  std::shared_ptr<const LongTextEncoder> encoder_;
  std::shared_ptr<ToldOnce> told_ = std::make_shared<ToldOnce>();
  std::shared_ptr<TextData> train_;  // null: there is no such split
  std::vector<std::pair<std::string, std::shared_ptr<TextData>>> dev_;  // by split
  std::optional<MetaData> meta_;                                        // of records to train on
  mutable bool input_taken_ = false;  // a stream of a file that is read once was given out
};

void Classification::take(const JsonValue& description) {
  target_->take(description);
  source_.take(description, config_.positions());
}

void Classification::require_stride() const {
  uint64_t widest = encoder_->widest();
  if (options().doc_stride <= static_cast<int64_t>(widest)) return;
  throw usage_error(
      "--doc_stride={}: a window of --max_seq_length={} has room for {} pieces of a text, and "
      "windows are never farther apart than they are wide; {} at most expected",
      options().doc_stride, options().max_seq_length, widest, widest);
}

void Classification::load() {
  refuse_pipes();
  if (meta_) {
    load_recorded_train();
  } else if (!options().train_file.empty()) {
    load_train();
  }
  if (!target_->is_known()) {
    throw usage_error("the labels are not known: give --train_file, or a model that has them");
  }
  for (const TableSource::Table& table : source_.dev_tables()) load_dev(table);
  for (auto& [split, data] : dev_) data->set_target(target_);
  if (!options().test_file.empty() && !is_read_once(options().test_file)) {
    open_test();  // only to see now that the file is there and has the columns
  }
}

// Of rows that need a label, those without one are bad ones.
std::unique_ptr<TextRowReader> Classification::open(const std::string& file,
                                                    std::string_view split) const {
  auto reader = std::make_unique<TextRowReader>(
      file, source_.columns(split), row_options(options(), source_.has_header(split), false),
      false);
  reader->require([this](const TextRow& row) { return label_fault(row); });
  return reader;
}

std::unique_ptr<TextRowReader> Classification::open_test() const {
  return std::make_unique<TextRowReader>(options().test_file, source_.columns("test"),
                                         row_options(options(), source_.has_header("test"), true),
                                         test_label_optional_);
}

void Classification::load_dev(const TableSource::Table& table) {
  const std::string& file = table.file;
  if (takes_records() && is_recorded(file, meta_ ? &*meta_ : nullptr)) {
    auto rows = meta_ ? meta_->eval_rows : std::nullopt;
    dev_.emplace_back(table.split, read_recorded(file, rows));
    return;
  }
  auto data = std::make_shared<TextData>(file, long_text_);
  load_texts(*open(file, table.split), *encoder_, options().limit,
             [&](const EncodedText& input, TextRow row) { data->add(input, std::move(row)); });
  if (data->size() == 0) throw error("{}: there is no row to evaluate on", file);
  data->report();
  dev_.emplace_back(table.split, std::move(data));
}

// Why a row can be neither learnt from nor scored; empty: it can.
std::string Classification::label_fault(const TextRow& row) const {
  if (!row.label) {
    return fmt::format(
        "the label is null, which says that it is not known; rows to learn from or to score need "
        "one{}",
        kind_ == "multilabel" ? ": [] where there is none" : "");
  }
  if (row.label->is_empty() && !target_->may_be_empty()) {
    return "the label is empty; rows to learn from or to score need one (--bad_rows=skip leaves "
           "this one out)";
  }
  return target_->misfit(*row.label);
}

// Before a pipe is read to its end.
void Classification::refuse_pipes() const {
  if (options().train_file.empty()) return;
  for (const std::string& file : {options().train_file, options().dev_file}) {
    if (!file.empty()) require_rereadable(file);
  }
}

void Classification::load_train() {
  const std::string& file = options().train_file;
  RowDraw draw(file, "row", source_.has_dev() ? 0 : options().dev_fraction,
               options().train_fraction);
  train_ = std::make_shared<TextData>(file, long_text_);
  auto held = std::make_shared<TextData>(file, long_text_);
  load_texts(*open(file, "train"), *encoder_, options().limit,
             [&](const EncodedText& input, TextRow row) {
               RowDraw::Part part = draw.part_of(row.text + '\0' + row.text_b);
               if (part == RowDraw::Part::left_out) return;
               bool trains = part == RowDraw::Part::trained;
               (trains ? train_ : held)->add(input, std::move(row));
             });
  draw.require_rows();
  train_->report();
  draw.report_held_out();
  if (held->size() > 0) {
    held->report(" (held out)");
    dev_.emplace_back("dev", held);
  }
  LabelColumn column = {file, columns_.label};
  if (!target_->is_known()) {
    // The held-out rows were in the training file: their labels belong to it.
    std::vector<RowLabel> found = train_->labels();
    if (!dev_.empty()) found.insert(found.end(), held->labels().begin(), held->labels().end());
    target_->learn(found, column);
  }
  weigh();
}

void Classification::weigh() {
  // Rare or not, as it is trained on: a window is an example.
  target_->weigh(long_text_ == LongText::windows ? train_->labels_of_examples() : train_->labels());
  train_->set_target(target_);
  target_->report(train_->labels(), {options().train_file, columns_.label});
}

// What records are of is as with a model that was trained on them.
void Classification::take_meta_data() {
  meta_ =
      read_training_meta_data(options(), options().dev_fraction,
                              ClassificationOptions().dev_fraction, kind_, *tokenizer_, config_);
  Json description = described_rows(*meta_);
  require_labels(options().target, description);
  take(JsonValue(description, meta_->file, "description"));
}

std::shared_ptr<TextData> Classification::read_recorded(const std::string& file,
                                                        std::optional<uint64_t> expected) const {
  const MetaData* meta = meta_ ? &*meta_ : nullptr;
  RecordedTexts from = {file, kind_, target_, meta, options().limit, long_text_};
  return read_recorded_texts(
      open_recorded(file, meta, options().max_seq_length, *tokenizer_, config_), from, expected);
}

void Classification::load_recorded_train() {
  require_records(options().train_file, *meta_);
  train_ = read_recorded(options().train_file, meta_->train_rows);
  weigh();
}

}  // namespace

std::unique_ptr<Task> make_classification(std::string_view kind,
                                          const ClassificationOptions& options,
                                          const BertConfig& config,
                                          std::shared_ptr<const Tokenizer> tokenizer,
                                          const Json* description,
                                          const std::string& described_in) {
  return std::make_unique<Classification>(kind, options, config, std::move(tokenizer), description,
                                          described_in);
}

}  // namespace bertrain
