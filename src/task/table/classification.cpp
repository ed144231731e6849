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
#include "task/table/text_data.h"
#include "task/table/window_rows.h"
#include "tensor/ops/ops.h"
#include "text/unicode.h"

namespace bertrain {
namespace {

class Classification final : public Task {
 public:
  Classification(std::string_view kind, ClassificationOptions options, const BertConfig& config,
                 std::shared_ptr<const Tokenizer> tokenizer, const Json* description,
                 const std::string& described_in)
      : kind_(kind),
        target_(make_target(kind, target_options(options))),
        options_(std::move(options)),
        test_label_optional_(!options_.train_file.empty() || options_.label_column.empty()),
        config_(config),
        tokenizer_(std::move(tokenizer)) {
    use_layout(options_.layout);
    if (description != nullptr) take(JsonValue(*description, described_in, "task"));
    if (!options_.input_meta_data_path.empty()) take_meta_data();
    columns_ = columns_of("train");
    test_columns_ = columns_of("test");
    bool pairs = !columns_.text_b.empty();
    if (options_.max_seq_length == 0) {
      int64_t positions = config_.positions(),
              least = PairEncoder::least_length(tokenizer_->special(), pairs);
      if (positions < least) {
        throw usage_error(
            "the model's max_position_embeddings is {}: {} needs {} positions at least, for {}, {} "
            "and a piece each",
            positions, pairs ? "a pair of texts" : "a text", least, tokenizer_->special().classify,
            tokenizer_->special().separate);
      }
      options_.max_seq_length = std::min<int64_t>(128, positions);
    }
    if (pairs && config_.type_vocab_size < tokenizer_->special().segments) {
      throw usage_error(
          "--text_b_column={}: a pair of texts needs two token types, and the model's "
          "type_vocab_size is {}; a model with two is needed, or texts in one column",
          columns_.text_b, config_.type_vocab_size);
    }
    check_ranges(options_, config_.positions());
    long_text_ = long_text_of(options_);
    encoder_ = std::make_shared<LongTextEncoder>(*tokenizer_, options_.max_seq_length, pairs,
                                                 long_text_, options_.doc_stride);
    refuse_records({meta_ ? "" : options_.train_file, takes_records() ? "" : options_.dev_file,
                    options_.test_file});
    load();
  }

  std::vector<std::string> splits() const override {
    std::vector<std::string> names;
    if (train_) names.emplace_back("train");
    for (const auto& [split, data] : dev_) names.push_back(split);
    if (!options_.test_file.empty()) names.emplace_back("test");
    return names;
  }

  Schema schema() const override { return target_->schema(); }

  std::vector<LossTerm> terms() const override { return {target_->term()}; }

  ExampleStream examples(std::string_view split) const override {
    if (split == "train" && train_) return stream(train_);
    if (auto dev = find_dev(split)) return stream(dev);
    if (split == "test" && !options_.test_file.empty()) {
      bool once = is_read_once(options_.test_file);
      if (once) {
        check(!input_taken_, "a pipe is read once: its lengths cannot be sampled before");
        input_taken_ = true;
      }
      auto reader = std::make_unique<TextRowReader>(options_.test_file, test_columns_,
                                                    row_options(options_, header_of("test"), true),
                                                    test_label_optional_);
      return stream_texts(std::move(reader), encoder_, target_, told_, once);
    }
    throw error("there are no examples for '{}': no file was given for it", split);
  }

  std::optional<uint64_t> count(std::string_view split) const override {
    if (split == "train" && train_) return train_->size();
    if (auto dev = find_dev(split)) return dev->size();
    return std::nullopt;
  }

  int64_t max_seq_length() const override { return options_.max_seq_length; }
  int64_t max_targets() const override { return 0; }

  Outputs build(const Scope& scope, const Inputs& batch) const override {
    Tensor hidden = bert(scope, config_, encoder_slots(batch));  // [R, S, H]
    ClassifierHead head{target_->outputs(), options_.classifier_dropout};
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
    if (layout_) {
      description["layout"] = layout_->name;  // which tells the columns of each of its files
    } else {
      description.update({{"text_column", columns_.text},
                          {"text_b_column", columns_.text_b},
                          {"label_column", columns_.label},
                          {"id_column", columns_.id},
                          {"header", options_.header.value_or(true)}});
    }
    description.update(
        {{"format", options_.format.empty() ? options_.trained_format : options_.format},
         {"max_seq_length", options_.max_seq_length},
         {"long_text", name_of(long_text_)},
         {"classifier_dropout", options_.classifier_dropout}});
    if (options_.doc_stride > 0) description["doc_stride"] = options_.doc_stride;
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
  void use_layout(const std::string& name);
  TextColumns columns_of(std::string_view split) const;
  bool header_of(std::string_view split) const {
    return options_.header.value_or(layout_ ? layout_->file(split).header : true);
  }
  void take(const JsonValue& description);
  void load();
  void load_dev(const std::string& split, const std::string& file, const TextColumns& columns,
                bool header);
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
  bool takes_records() const { return meta_ || options_.train_file.empty(); }
  std::shared_ptr<TextData> read_recorded(const std::string& file,
                                          std::optional<uint64_t> expected) const;
  void load_recorded_train();
  void weigh();

  std::string kind_;
  std::shared_ptr<TextTarget> target_;
  ClassificationOptions options_;
  // A label column that was named for the rows to predict, and not for those to train on, must be
  // in them.
  bool test_label_optional_;
  BertConfig config_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  const TableLayout* layout_ = nullptr;  // null: own tables
  TextColumns columns_, test_columns_;
  LongText long_text_ = LongText::head;
  std::shared_ptr<const LongTextEncoder> encoder_;
  std::shared_ptr<ToldOnce> told_ = std::make_shared<ToldOnce>();
  std::shared_ptr<TextData> train_;  // null: there is no such split
  std::vector<std::pair<std::string, std::shared_ptr<TextData>>> dev_;  // by split
  std::optional<MetaData> meta_;                                        // of records to train on
  mutable bool input_taken_ = false;  // a stream of a file that is read once was given out
};

// A benchmark's own tables, where no others are named.
void Classification::use_layout(const std::string& name) {
  if (name.empty()) return;
  layout_ = find_layout(name);
  check(layout_ != nullptr, "a layout that there is");
  if (options_.trained_format.empty()) options_.trained_format = layout_->format;
  if (options_.data_dir.empty()) return;
  if (!exists(join_path(options_.data_dir, layout_->file("train").name))) {
    throw usage_error("--data_dir={}: {} is not there, which {} has", options_.data_dir,
                      layout_->file("train").name, name);
  }
  if (options_.train_file.empty()) {
    options_.train_file = join_path(options_.data_dir, layout_->file("train").name);
    require_layout(*layout_, layout_->file("train"), options_.train_file);
  }
}

// Those that the options name, else the layout's, else our own.
TextColumns Classification::columns_of(std::string_view split) const {
  TextColumns columns;
  columns.text = "text";
  columns.label = "label";
  if (layout_) columns = layout_->file(split).columns;
  auto given = [](const std::string& option, std::string& column) {
    if (!option.empty()) column = option;
  };
  given(options_.text_column, columns.text);
  given(options_.text_b_column, columns.text_b);
  given(options_.label_column, columns.label);
  given(options_.id_column, columns.id);
  return columns;
}

// What the options leave open is as it was when the model was trained.
void Classification::take(const JsonValue& description) {
  target_->take(description);
  if (std::optional<JsonValue> found = description.find("layout")) {
    if (!find_layout(found->text())) found->fail("the name of a benchmark's tables");
    if (!layout_) use_layout(found->text());
  }
  auto fill = [&](std::string& option, const char* key) {
    if (!option.empty()) return;
    if (std::optional<JsonValue> found = description.find(key)) option = found->text();
  };
  fill(options_.text_column, "text_column");
  fill(options_.text_b_column, "text_b_column");
  fill(options_.label_column, "label_column");
  fill(options_.id_column, "id_column");
  if (std::optional<JsonValue> found = description.find("header"); found && !options_.header) {
    options_.header = found->truth();
  }
  if (std::optional<JsonValue> found = description.find("format");
      found && !found->text().empty()) {
    if (!is_row_format(found->text())) found->fail("tsv, csv or jsonl");
    options_.trained_format = found->text();
  }
  if (auto found = description.find("long_text"); found && options_.long_text.empty()) {
    options_.long_text = found->text();
    if (!find_long_text(options_.long_text)) found->fail("head, head_tail or windows");
    // The distance of its windows is no option of another way.
    if (auto stride = description.find("doc_stride"); stride && options_.doc_stride == 0) {
      options_.doc_stride = stride->integer(1, kMostStride);
    }
  }
  if (options_.max_seq_length > 0) return;
  if (std::optional<JsonValue> found = description.find("max_seq_length")) {
    options_.max_seq_length = found->integer(1, config_.positions());
  }
}

void Classification::load() {
  refuse_pipes();
  if (meta_) {
    load_recorded_train();
  } else if (!options_.train_file.empty()) {
    load_train();
  }
  if (!target_->is_known()) {
    throw usage_error("the labels are not known: give --train_file, or a model that has them");
  }
  if (!options_.dev_file.empty()) {
    load_dev("dev", options_.dev_file, columns_of("dev"), header_of("dev"));
  } else if (layout_ && !options_.data_dir.empty()) {
    for (const TableLayout::File& file : layout_->files) {
      if (!file.split.starts_with("dev")) continue;
      std::string path = join_path(options_.data_dir, file.name);
      require_layout(*layout_, file, path);
      load_dev(file.split, path, columns_of(file.split), header_of(file.split));
    }
  }
  for (auto& [split, data] : dev_) data->set_target(target_);
  if (!options_.test_file.empty() && !is_read_once(options_.test_file)) {
    // Only to see now that the file is there and has the columns.
    TextRowReader reader(options_.test_file, test_columns_,
                         row_options(options_, header_of("test"), true), test_label_optional_);
  }
}

void Classification::load_dev(const std::string& split, const std::string& file,
                              const TextColumns& columns, bool header) {
  if (takes_records() && is_recorded(file, meta_ ? &*meta_ : nullptr)) {
    auto rows = meta_ ? meta_->eval_rows : std::nullopt;
    dev_.emplace_back(split, read_recorded(file, rows));
    return;
  }
  auto data = std::make_shared<TextData>(file, long_text_);
  TextRowReader reader(file, columns, row_options(options_, header, false), false);
  reader.require([this](const TextRow& row) { return label_fault(row); });
  load_texts(reader, *encoder_, options_.limit,
             [&](const EncodedText& input, TextRow row) { data->add(input, std::move(row)); });
  if (data->size() == 0) throw error("{}: there is no row to evaluate on", file);
  data->report();
  dev_.emplace_back(split, std::move(data));
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
  if (options_.train_file.empty()) return;
  for (const std::string& file : {options_.train_file, options_.dev_file}) {
    if (!file.empty()) require_rereadable(file);
  }
}

void Classification::load_train() {
  const std::string& file = options_.train_file;
  bool has_dev = !options_.dev_file.empty() || (layout_ && !options_.data_dir.empty());
  double fraction = has_dev ? 0 : options_.dev_fraction;
  train_ = std::make_shared<TextData>(file, long_text_);
  auto held = std::make_shared<TextData>(file, long_text_);
  uint64_t left_out = 0;
  TextRowReader reader(file, columns_, row_options(options_, header_of("train"), false), false);
  reader.require([this](const TextRow& row) { return label_fault(row); });
  load_texts(reader, *encoder_, options_.limit, [&](const EncodedText& input, TextRow row) {
    std::string text = row.text + '\0' + row.text_b;
    if (is_in_share(text, fraction, Draw::held_out)) return held->add(input, std::move(row));
    if (!is_in_share(text, options_.train_fraction, Draw::trained)) return void(++left_out);
    train_->add(input, std::move(row));
  });
  if (train_->rows() + held->rows() + left_out == 0)
    throw error("{}: there is no row to train on", file);
  DrawnRows drawn = {file,           "row",        fraction, options_.train_fraction,
                     train_->rows(), held->rows(), left_out};
  require_trained_rows(drawn);
  train_->report();
  report_held_out(drawn);
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
  target_->report(train_->labels(), {options_.train_file, columns_.label});
}

// What records are of is as with a model that was trained on them.
void Classification::take_meta_data() {
  meta_ = read_training_meta_data(
      {options_.input_meta_data_path, options_.train_file, options_.train_fraction,
       options_.dev_fraction, ClassificationOptions().dev_fraction, options_.max_seq_length},
      kind_, *tokenizer_, config_);
  Json description = described_rows(*meta_);
  require_labels(options_.target, description);
  take(JsonValue(description, meta_->file, "description"));
}

std::shared_ptr<TextData> Classification::read_recorded(const std::string& file,
                                                        std::optional<uint64_t> expected) const {
  const MetaData* meta = meta_ ? &*meta_ : nullptr;
  RecordedTexts from = {file, kind_, target_, meta, options_.limit, long_text_};
  return read_recorded_texts(
      open_recorded(file, meta, options_.max_seq_length, *tokenizer_, config_), from, expected);
}

void Classification::load_recorded_train() {
  require_records(options_.train_file, *meta_);
  train_ = read_recorded(options_.train_file, meta_->train_rows);
  weigh();
}

}  // namespace

std::vector<std::string> table_files(const ClassificationOptions& o) {
  std::vector<std::string> files = {o.train_file, o.dev_file, o.input_meta_data_path};
  const TableLayout* layout = o.data_dir.empty() ? nullptr : find_layout(o.layout);
  for (const TableLayout::File& file : layout ? layout->files : std::vector<TableLayout::File>()) {
    std::string path = join_path(o.data_dir, file.name);
    if (file.split == "train" && o.train_file.empty()) files.push_back(path);
    if (file.split.starts_with("dev") && o.dev_file.empty()) files.push_back(path);
  }
  std::erase(files, "");
  return files;
}

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
