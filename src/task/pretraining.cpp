// From records of sentence pairs to the two losses of Devlin et al. 2019, section 3.1.
#include "task/pretraining.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "data/record_stream.h"
#include "data/shuffle.h"
#include "formats/tfrecord.h"
#include "model/bert.h"
#include "model/heads.h"
#include "storage/storage.h"
#include "task/encoder_inputs.h"
#include "task/pretraining_rows.h"
#include "tensor/ops/ops.h"

namespace bertrain {
namespace {

constexpr float kMostWeight = 1000;
constexpr const char* kNextSentence = "next_sentence_labels";
constexpr double kMaskedLmEpsilon = 1e-5;  // of the reference's normaliser

using Integers = std::vector<int64_t>;

void require_size(std::string_view name, size_t found, int64_t wanted, std::string_view option) {
  if (static_cast<int64_t>(found) != wanted) {
    throw error("{} has {} values, but --{} is {}: use the number the data were made with", name,
                found, option, wanted);
  }
}

void require_below(std::string_view name, int64_t value, int64_t bound, std::string_view what) {
  if (value < 0 || value >= bound) {
    throw error("{} holds {}, outside 0 … {} ({})", name, value, bound - 1, what);
  }
}

// How many slots are real: the mask must be ones, then zeros.
size_t real_length(const Integers& mask) {
  size_t length = 0;
  while (length < mask.size() && mask[length] == 1) ++length;
  if (std::any_of(mask.begin() + static_cast<int64_t>(length), mask.end(),
                  [](int64_t m) { return m != 0; })) {
    throw error("input_mask is not ones followed by zeros");
  }
  if (length == 0) throw error("input_mask has no 1: the record is empty");
  return length;
}

std::optional<FirstRecord> first_record_of(const std::string& file, bool skip_corrupt) {
  auto refuse_text = [&](std::string_view reason) {
    if (!starts_like_text(file)) return;
    throw error(
        "{}: this looks like text; a pre-trained model is trained and evaluated on TFRecords, "
        "which bertrain prepare makes of text; a table of rows is for finetune and its models ({})",
        file, reason);
  };
  try {
    std::optional<FirstRecord> first = first_record(file, skip_corrupt);
    if (!first) refuse_text("no record can be read");
    return first;
  } catch (const Error& e) {
    refuse_text(e.what());
    throw;
  }
}

// In the number of a training row: the file above, the record below, as files are read in any order.
constexpr int kFileShift = 40;

class Pretraining final : public Task {
 public:
  Pretraining(PretrainingOptions options, const BertConfig& config)
      : options_(std::move(options)), config_(config) {
    if (!options_.input_file.empty()) files_["train"] = expand_globs(options_.input_file);
    if (!options_.eval_file.empty()) files_["dev"] = expand_globs(options_.eval_file);
    if (!files_.empty() && config_.family == Family::roberta) {
      throw usage_error(
          "{}: records are for BERT, which is trained on pairs of sentences; the model is a "
          "RoBERTa, which has no head for them",
          options_.input_file.empty() ? options_.eval_file : options_.input_file);
    }
    // The training files first: it is theirs that the others must be like.
    for (const std::string& split : splits()) {
      std::vector<std::string>& files = files_[split];
      std::erase_if(files, [&](const std::string& file) { return !has_records(file); });
      if (files.empty()) {
        throw error("{}: there is no sound record to {}",
                    split == "train" ? options_.input_file : options_.eval_file,
                    split == "train" ? "train on" : "evaluate on");
      }
    }
    if (options_.max_seq_length > config_.positions()) {
      throw usage_error("records of {} tokens are beyond the model's {} positions",
                        options_.max_seq_length, config_.positions());
    }
  }

  std::vector<std::string> splits() const override {
    std::vector<std::string> names;
    for (const char* split : {"train", "dev"}) {
      if (files_.contains(split)) names.emplace_back(split);
    }
    return names;
  }

  Schema schema() const override {
    Schema schema = {{"masked_lm_ids", {DType::i32, Axis::target, {}}},
                     {"masked_lm_weights", {DType::f32, Axis::target, {}}}};
    if (options_.next_sentence) schema[kNextSentence] = {DType::i32, Axis::example, {}};
    return schema;
  }

  std::vector<LossTerm> terms() const override {
    std::vector<LossTerm> terms = {
        {"masked_lm_loss", Axis::target, "masked_lm_weights", kMaskedLmEpsilon}};
    if (options_.next_sentence) {
      terms.push_back({"next_sentence_loss", Axis::example, "example_weight", 0});
    }
    return terms;
  }

  ExampleStream examples(std::string_view split) const override {
    std::vector<size_t> order(files_of(split).size());
    std::iota(order.begin(), order.end(), size_t{0});
    return read(split, order);
  }

  ExampleStream shuffled_files(std::string_view split, uint64_t seed,
                               uint64_t pass) const override {
    return read(split, file_order(files_of(split).size(), seed, pass));
  }

  std::string row_name(int64_t row) const override {
    const std::vector<std::string>& files = files_of("train");
    return fmt::format("{}:{}", files.at(static_cast<size_t>(row >> kFileShift)),
                       (row & ((int64_t{1} << kFileShift) - 1)) + 1);  // as readers count records
  }

  // Records are not counted in the files; only reading them all would tell.
  std::optional<uint64_t> count(std::string_view) const override { return std::nullopt; }

  int64_t max_seq_length() const override { return options_.max_seq_length; }
  int64_t max_targets() const override { return options_.max_predictions_per_seq; }

  Outputs build(const Scope& scope, const Inputs& batch) const override {
    Tensor hidden = bert(scope, config_, encoder_slots(batch));  // [R, S, H]
    CrossEntropy lm = softmax_cross_entropy(
        masked_lm_logits(scope, config_, hidden, batch.at("target_slot")),  // [M, V]
        batch.at("masked_lm_ids"));
    Outputs outputs = {{{"masked_lm_loss", lm.loss}},
                       {{"masked_lm_loss", lm.loss}, {"masked_lm_prediction", lm.argmax}}};
    if (!options_.next_sentence) return outputs;
    Tensor pooled = pooled_output(scope, config_, hidden, batch.at("first_slot"));  // [E, H]
    CrossEntropy next =
        softmax_cross_entropy(next_sentence_logits(scope, config_, pooled),  // [E, 2]
                              batch.at(kNextSentence));
    outputs.losses["next_sentence_loss"] = next.loss;
    outputs.predictions["next_sentence_loss"] = next.loss;
    outputs.predictions["next_sentence_prediction"] = next.argmax;
    return outputs;
  }

  std::unique_ptr<Rows> rows() const override {
    return make_pretraining_rows(options_.next_sentence);
  }
  std::unique_ptr<Scorer> scorer() const override {
    return make_pretraining_scorer(options_.next_sentence);
  }

  Json describe() const override {
    Json description = {{"task", "pretraining"},
                        {"max_seq_length", options_.max_seq_length},
                        {"max_predictions_per_seq", options_.max_predictions_per_seq}};
    if (!options_.next_sentence) description["next_sentence"] = false;
    return description;
  }

 private:
  const std::vector<std::string>& files_of(std::string_view split) const {
    auto files = files_.find(split);
    if (files != files_.end()) return files->second;
    throw error("there are no examples for '{}': no file was given for it", split);
  }
  ExampleStream read(std::string_view split, const std::vector<size_t>& order) const;
  bool has_records(const std::string& file);
  static Example convert(const Example& record, const PretrainingOptions& options,
                         const BertConfig& config);

  PretrainingOptions options_;  // with the lengths of the data
  BertConfig config_;
  Named<std::vector<std::string>> files_;  // by split
  std::shared_ptr<ToldOnce> told_ = std::make_shared<ToldOnce>();
};

ExampleStream Pretraining::read(std::string_view split, const std::vector<size_t>& order) const {
  RecordOptions records;
  std::vector<std::string> files;
  for (size_t i : order) {
    files.push_back(files_of(split)[i]);
    // Rows that are scored are counted on from file to file.
    if (split == "train") records.first_rows.push_back(static_cast<int64_t>(i) << kFileShift);
  }
  records.skip_corrupt = options_.skip_corrupt;
  records.told = told_;
  // By value: the stream may outlive the task.
  records.convert = [options = options_, config = config_](Example record) {
    return convert(record, options, config);
  };
  return read_records(std::move(files), std::move(records));
}

// Whether there is a sound record in a file; if so, the first one must be of the task's lengths.
bool Pretraining::has_records(const std::string& file) {
  if (is_read_once(file)) {
    throw error(
        "{}: is a pipe or a device; records are read several times, so write them to a file first",
        file == "-" ? "standard input" : file);
  }
  std::optional<FirstRecord> first = first_record_of(file, options_.skip_corrupt);
  if (!first) {
    log_warning("{}: holds no sound record, and is passed over", file);
    return false;
  }
  auto agree = [&](int64_t& option, std::string_view name, std::string_view feature, size_t found) {
    auto data = static_cast<int64_t>(found);
    if (option == 0) option = data;
    if (option != data) {
      throw usage_error("{}: the data were made with {}={} ({} has {} values), but {} is wanted",
                        file, name, data, feature, data, option);
    }
  };
  try {
    agree(options_.max_seq_length, "max_seq_length", "input_ids",
          integers(first->example, "input_ids").size());
    agree(options_.max_predictions_per_seq, "max_predictions_per_seq", "masked_lm_positions",
          integers(first->example, "masked_lm_positions").size());
    if (options_.max_predictions_per_seq == 0) {
      throw error(
          "masked_lm_positions is empty: there is nothing to predict; records of prepare have "
          "max_predictions_per_seq values in each of their masked_lm lists");
    }
    convert(first->example, options_, config_);
    return true;
  } catch (const Error& e) {
    if (e.code() == ExitCode::usage) throw;
    throw e.within(first->place);
  }
}

Example Pretraining::convert(const Example& record, const PretrainingOptions& options,
                             const BertConfig& config) {
  const Integers& ids = integers(record, "input_ids");
  const Integers& mask = integers(record, "input_mask");
  const Integers& segments = integers(record, "segment_ids");
  require_size("input_ids", ids.size(), options.max_seq_length, "max_seq_length");
  require_size("input_mask", mask.size(), options.max_seq_length, "max_seq_length");
  require_size("segment_ids", segments.size(), options.max_seq_length, "max_seq_length");
  auto length = static_cast<int64_t>(real_length(mask));
  for (int64_t i = 0; i < length; ++i) {
    auto at = static_cast<size_t>(i);
    require_below("input_ids", ids[at], config.vocab_size, "the model's vocabulary");
    require_below("segment_ids", segments[at], config.type_vocab_size, "the model's token types");
  }

  const Integers& positions = integers(record, "masked_lm_positions");
  const Integers& target_ids = integers(record, "masked_lm_ids");
  const std::vector<float>& weights = floats(record, "masked_lm_weights");
  constexpr std::string_view kOption = "max_predictions_per_seq";
  require_size("masked_lm_positions", positions.size(), options.max_predictions_per_seq, kOption);
  require_size("masked_lm_ids", target_ids.size(), options.max_predictions_per_seq, kOption);
  require_size("masked_lm_weights", weights.size(), options.max_predictions_per_seq, kOption);
  Integers kept_positions, kept_ids;
  std::vector<float> kept_weights;
  for (size_t i = 0; i < weights.size(); ++i) {
    // They are 0 or 1 as they are written; others only say how much a position counts.
    if (!(weights[i] >= 0 && weights[i] <= kMostWeight)) {
      throw error("masked_lm_weights holds {}; a number from 0 to {} expected", weights[i],
                  kMostWeight);
    }
    if (weights[i] == 0) continue;
    require_below("masked_lm_positions", positions[i], length, "the record's tokens");
    require_below("masked_lm_ids", target_ids[i], config.vocab_size, "the model's vocabulary");
    kept_positions.push_back(positions[i]);
    kept_ids.push_back(target_ids[i]);
    kept_weights.push_back(weights[i]);
  }

  Example example = {{"input_ids", Integers(ids.begin(), ids.begin() + length)},
                     {"segment_ids", Integers(segments.begin(), segments.begin() + length)},
                     {"target_positions", std::move(kept_positions)},
                     {"masked_lm_ids", std::move(kept_ids)},
                     {"masked_lm_weights", std::move(kept_weights)}};
  if (!options.next_sentence) return example;
  const Integers& next = integers(record, kNextSentence);
  if (next.size() != 1) throw error("{} has {} values, not 1", kNextSentence, next.size());
  require_below(kNextSentence, next[0], 2, "0: follows, 1: random");
  example[kNextSentence] = next;
  return example;
}

}  // namespace

std::unique_ptr<Task> make_pretraining(const PretrainingOptions& options,
                                       const BertConfig& config) {
  return std::make_unique<Pretraining>(options, config);
}

}  // namespace bertrain
