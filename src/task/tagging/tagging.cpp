// From columns of words and tags to losses of a layer on each word's first piece.
#include "task/tagging/tagging.h"

#include <algorithm>
#include <utility>

#include "base/checked_json.h"
#include "base/error.h"
#include "base/log.h"
#include "model/bert.h"
#include "model/heads.h"
#include "storage/storage.h"
#include "task/encoder_inputs.h"
#include "task/share.h"
#include "task/table/label_list.h"
#include "task/table/recorded_texts.h"
#include "task/tagging/recorded_tags.h"
#include "task/tagging/tag_data.h"
#include "task/tagging/tag_rows.h"
#include "tensor/ops/ops.h"

namespace bertrain {
namespace {

std::string text_of(const ConllSentence& sentence) {
  return fmt::format("{}", fmt::join(sentence.words, " "));
}

class Tagging final : public Task {
 public:
  Tagging(TaggingOptions options, const BertConfig& config,
          std::shared_ptr<const Tokenizer> tokenizer, const Json* description,
          const std::string& described_in)
      : options_(std::move(options)),
        config_(config),
        tokenizer_(std::move(tokenizer)),
        invalid_(parse_invalid_utf8(options_.invalid_utf8)),
        tags_sought_(options_.columns.tag_column > 0) {
    if (description != nullptr) take(JsonValue(*description, described_in, "task"));
    if (!options_.input_meta_data_path.empty()) take_meta_data();
    if (options_.columns.word_column == 0) options_.columns.word_column = 1;
    if (options_.max_seq_length == 0) {
      options_.max_seq_length = std::min<int64_t>(128, config_.positions());
    }
    check_data_options(options_, config_.positions());
    check_dev_fraction(options_.dev_fraction);
    check_classifier_dropout(options_.classifier_dropout);
    pieces_ = std::make_shared<WordPieces>(*tokenizer_, options_.max_seq_length);
    refuse_records({meta_ ? "" : options_.train_file, takes_records() ? "" : options_.dev_file,
                    options_.test_file});
    if (meta_) {
      load_recorded_train();
    } else if (!options_.train_file.empty()) {
      load_train();
    }
    if (!labels_) {
      throw usage_error("the tags are not known: give --train_file, or a model that has them");
    }
    if (!options_.dev_file.empty()) load_dev();
    if (dev_) dev_->set_labels(labels_, true);
    if (!options_.test_file.empty() && !is_read_once(options_.test_file)) {
      ConllReader(options_.test_file, test_columns(), invalid_);  // is it there?
    }
  }

  std::vector<std::string> splits() const override {
    std::vector<std::string> names;
    if (train_) names.emplace_back("train");
    if (dev_) names.emplace_back("dev");
    if (!options_.test_file.empty()) names.emplace_back("test");
    return names;
  }

  Schema schema() const override {
    return {{"tags", {DType::i32, Axis::target, {}}},
            {"tag_weights", {DType::f32, Axis::target, {}}}};
  }
  std::vector<LossTerm> terms() const override {
    return {{"tagging_loss", Axis::target, "tag_weights", 0}};
  }

  ExampleStream examples(std::string_view split) const override {
    if (split == "train" && train_) return stream(train_, false);
    if (split == "dev" && dev_) return stream(dev_, true);
    if (split == "test" && !options_.test_file.empty()) {
      bool once = is_read_once(options_.test_file);
      if (once) {
        check(!input_taken_, "a pipe is read once: its lengths cannot be sampled before");
        input_taken_ = true;
      }
      return stream_sentences(options_.test_file, test_columns(), invalid_, pieces_, labels_, told_,
                              once);
    }
    throw error("there are no examples for '{}': no file was given for it", split);
  }

  std::optional<uint64_t> count(std::string_view split) const override {
    if (split == "train" && train_) return train_->size();
    if (split == "dev" && dev_) return dev_->size();
    return std::nullopt;
  }
  std::unique_ptr<TargetCounts> target_counts() const override { return make_tag_counts(labels_); }
  std::string row_name(int64_t row) const override {
    return train_ ? train_->place(row) : std::to_string(row);
  }

  int64_t max_seq_length() const override { return options_.max_seq_length; }
  int64_t max_targets() const override { return options_.max_seq_length - 2; }

  Outputs build(const Scope& scope, const Inputs& batch) const override {
    Tensor hidden = bert(scope, config_, encoder_slots(batch));  // [R, S, H]
    ClassifierHead head{static_cast<int64_t>(labels_->size()), options_.classifier_dropout};
    Tensor logits = token_logits(scope, config_, head, hidden, batch.at("number"),
                                 batch.at("position"), batch.at("target_slot"));  // [M, C]
    CrossEntropy tag = softmax_cross_entropy(logits, batch.at("tags"));
    return {{{"tagging_loss", tag.loss}},
            {{"tag", tag.argmax},
             {"loss", tag.loss},
             {"surprise", softmax_cross_entropy(logits, tag.argmax).loss}}};
  }

  std::unique_ptr<Rows> rows() const override { return make_tag_rows(labels_); }
  std::unique_ptr<Scorer> scorer() const override { return make_tag_scorer(); }

  Json describe() const override {
    return {{"task", "tagging"},
            {"labels", labels_->names()},
            {"word_column", options_.columns.word_column},
            {"tag_column", options_.columns.tag_column},
            {"columns", columns_},
            {"max_seq_length", options_.max_seq_length},
            {"classifier_dropout", options_.classifier_dropout}};
  }

 private:
  void take(const JsonValue& description);
  void load_train();
  void load_dev();
  void take_meta_data();
  void load_recorded_train();
  // Numbers of tags are those of other records only where these are of one preparation.
  bool takes_records() const { return meta_ || options_.train_file.empty(); }
  RecordedReader open_records(const std::string& file) const;
  void learn(const std::vector<std::string>& found);

  ConllColumns columns() const {
    return {options_.columns.word_column, options_.columns.tag_column, false, 0};
  }
  // Where the tags' column was named for the file to predict, they are in it.
  ConllColumns test_columns() const {
    bool trained_here = train_ != nullptr;
    return {options_.columns.word_column, options_.columns.tag_column, true,
            tags_sought_ && !trained_here ? 0 : columns_};
  }
  ConllReader open(const std::string& file) const;

  TaggingOptions options_;
  BertConfig config_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  InvalidUtf8 invalid_;
  bool tags_sought_;     // an option named their column
  int64_t columns_ = 0;  // of the file that was trained on
  std::shared_ptr<const WordPieces> pieces_;
  std::shared_ptr<const Labels> labels_;
  std::shared_ptr<TagData> train_, dev_;  // null: there is no such split
  std::shared_ptr<ToldOnce> told_ = std::make_shared<ToldOnce>();
  std::optional<MetaData> meta_;      // of records to train on
  mutable bool input_taken_ = false;  // a stream of a file that is read once was given out
};

// What the options leave open is as it was when the model was trained.
void Tagging::take(const JsonValue& description) {
  constexpr int64_t kMostColumns = 1'000'000;
  labels_ = std::make_shared<Labels>(described_labels(description, 2));
  auto fill = [&](int64_t& option, const char* key, int64_t least, int64_t most) {
    if (option != 0) return;
    if (auto found = description.find(key)) option = found->integer(least, most);
  };
  fill(options_.columns.word_column, "word_column", 1, kMostColumns);
  fill(options_.columns.tag_column, "tag_column", 0, kMostColumns);
  fill(columns_, "columns", 0, kMostColumns);
  fill(options_.max_seq_length, "max_seq_length", 1, config_.positions());
}

// To be read to its end, and again whenever a run goes on.
ConllReader Tagging::open(const std::string& file) const {
  if (!options_.train_file.empty()) require_rereadable(file);
  return ConllReader(file, columns(), invalid_);
}

void Tagging::learn(const std::vector<std::string>& found) {
  labels_ = std::make_shared<Labels>(options_.labels.empty()
                                         ? Labels::learn(found)
                                         : Labels(split_list(options_.labels, ",", "labels")));
  const std::string& file = options_.train_file;
  if (labels_->size() < 2) {
    throw error("{}: there is only the tag {}; a tagger needs two at least", file,
                labels_->size() == 0 ? "''" : labels_->list());
  }
  if (labels_->size() > kMostLabels || labels_->bytes() > kMostLabelBytes) {
    throw usage_error(
        "{}: {} different tags of {} bytes together; at most {} of {} bytes expected: "
        "--tag_column names another column",
        file, labels_->size(), labels_->bytes(), kMostLabels, kMostLabelBytes);
  }
}

void Tagging::load_train() {
  const std::string& file = options_.train_file;
  RowDraw draw(file, "sentence", options_.dev_file.empty() ? options_.dev_fraction : 0,
               options_.train_fraction);
  train_ = std::make_shared<TagData>(file);
  auto held = std::make_shared<TagData>(file);
  ConllReader reader = open(file);
  load_sentences(reader, *pieces_, options_.limit,
                 [&](const std::vector<TagWindow>& windows, const ConllSentence& sentence) {
                   RowDraw::Part part = draw.part_of(text_of(sentence));
                   if (part == RowDraw::Part::left_out) return;
                   bool trains = part == RowDraw::Part::trained;
                   (trains ? train_ : held)->add(windows, sentence);
                 });
  columns_ = static_cast<int64_t>(reader.columns());
  draw.require_rows();
  train_->report();
  draw.report_held_out();
  if (held->size() > 0) dev_ = held;
  if (!labels_) {
    // The sentences held out were in the training file: their tags belong to it.
    std::vector<std::string> found = train_->tags();
    found.insert(found.end(), held->tags().begin(), held->tags().end());
    learn(found);
  }
  train_->set_labels(labels_, false);
  train_->report_tags();
}

void Tagging::load_dev() {
  dev_ = std::make_shared<TagData>(options_.dev_file);
  if (takes_records() && is_recorded(options_.dev_file, meta_ ? &*meta_ : nullptr)) {
    RecordedReader reader = open_records(options_.dev_file);
    uint64_t records =
        load_recorded_tags(reader, *labels_, options_.limit,
                           [&](const std::vector<TagWindow>& windows,
                               const ConllSentence& sentence) { dev_->add(windows, sentence); });
    if (meta_ && options_.limit == 0) {
      require_rows(options_.dev_file, records, meta_->eval_rows, *meta_);
    }
    if (dev_->size() == 0) throw error("{}: there is no word to evaluate on", options_.dev_file);
    return dev_->report();
  }
  ConllReader reader = open(options_.dev_file);
  load_sentences(reader, *pieces_, options_.limit,
                 [&](const std::vector<TagWindow>& windows, const ConllSentence& sentence) {
                   dev_->add(windows, sentence);
                 });
  if (dev_->size() == 0) throw error("{}: there is no word to evaluate on", options_.dev_file);
  dev_->report();
}

void Tagging::take_meta_data() {
  meta_ = read_training_meta_data(options_, options_.dev_fraction, TaggingOptions().dev_fraction,
                                  "tagging", *tokenizer_, config_);
  TargetOptions target;
  target.labels = options_.labels;
  require_labels(target, meta_->description);
  take(JsonValue(meta_->description, meta_->file, "description"));
}

RecordedReader Tagging::open_records(const std::string& file) const {
  return open_recorded(file, meta_ ? &*meta_ : nullptr, options_.max_seq_length, *tokenizer_,
                       config_);
}

void Tagging::load_recorded_train() {
  const std::string& file = options_.train_file;
  require_records(file, *meta_);
  train_ = std::make_shared<TagData>(file);
  RecordedReader reader = open_records(file);
  uint64_t records =
      load_recorded_tags(reader, *labels_, options_.limit,
                         [&](const std::vector<TagWindow>& windows, const ConllSentence& sentence) {
                           train_->add(windows, sentence);
                         });
  if (options_.limit == 0) require_rows(file, records, meta_->train_rows, *meta_);
  if (train_->size() == 0) throw error("{}: there is no word to train on", file);
  train_->report();
  train_->set_labels(labels_, false);
  train_->report_tags();
}

}  // namespace

std::unique_ptr<Task> make_tagging(const TaggingOptions& options, const BertConfig& config,
                                   std::shared_ptr<const Tokenizer> tokenizer,
                                   const Json* description, const std::string& described_in) {
  return std::make_unique<Tagging>(options, config, std::move(tokenizer), description,
                                   described_in);
}

}  // namespace bertrain
