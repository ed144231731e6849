// Padding on and off, and a check of everything that a record says.
#include "task/recorded.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/quote.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

using Integers = std::vector<int64_t>;

constexpr int64_t kFirstUniqueId = 1'000'000'000;  // of run_squad.py's first window
constexpr int64_t kNoLabel = -1;                   // of a slot that is no word's first piece

Integers padded(const Integers& values, int64_t width, int64_t filling) {
  Integers all = values;
  check(std::ssize(all) <= width, "an example fits its record");
  all.resize(static_cast<size_t>(width), filling);
  return all;
}

// The classes that are there, as 0 and 1.
Integers marks_of(const std::vector<float>& labels) {
  Integers marks;
  for (float label : labels) marks.push_back(label != 0 ? 1 : 0);
  return marks;
}

bool is_empty(const std::string& uri) { return storage_for(uri).size(uri) == 0U; }

const std::string& opened(const std::string& uri) {
  require_rereadable(uri);
  if (is_empty(uri)) throw error("{}: the file is empty, and records are expected", uri);
  return uri;
}

}  // namespace

Example RecordMaker::make(const Example& example, const std::string& name) {
  const Integers& ids = integers(example, "input_ids");
  Example record;
  record["input_ids"] = padded(ids, width_, 0);
  record["input_mask"] = padded(Integers(ids.size(), 1), width_, 0);
  record["segment_ids"] = padded(integers(example, "segment_ids"), width_, 0);
  if (task_ == "squad") {
    record["unique_ids"] = Integers{kFirstUniqueId + number_};
    record["start_positions"] = integers(example, "start_position");
    record["end_positions"] = integers(example, "end_position");
    record["is_impossible"] = integers(example, "is_impossible");
    record["id"] = std::vector<std::string>{name};
  } else if (task_ == "tagging") {
    const Integers &positions = integers(example, "target_positions"),
                   &tags = integers(example, "tags");
    const std::vector<float>& weights = floats(example, "tag_weights");
    Integers labels(static_cast<size_t>(width_), kNoLabel);
    for (size_t i = 0; i < tags.size(); ++i) {
      if (weights[i] > 0) labels.at(static_cast<size_t>(positions[i])) = tags[i];
    }
    record["label_ids"] = std::move(labels);
    int64_t sentence = integers(example, "row").at(0);
    sub_ = sentence == sentence_ ? sub_ + 1 : 0;
    sentence_ = sentence;
    record["sentence_id"] = Integers{sentence};
    record["sub_sentence_id"] = Integers{sub_};
    if (example.contains("gold")) {  // rows to score, whose tags need not be the model's
      record["tags"] = strings(example, "gold");
      record["tag_positions"] = positions;
    }
  } else {
    record["is_real_example"] = Integers{1};
    if (task_ == "regression") {
      record["label_ids"] = floats(example, "value");
    } else if (task_ == "multilabel") {
      record["label_ids"] = marks_of(floats(example, "labels"));
    } else {
      check(task_ == "classification" || task_ == "multiple_choice",
            "a task whose rows can be recorded");
      record["label_ids"] = integers(example, "label");
    }
    for (const char* note : {"id", "window"}) {
      if (auto found = example.find(note); found != example.end()) record[note] = found->second;
    }
  }
  ++number_;
  return record;
}

std::vector<Example> RecordMaker::make_all(const Example& example, const std::string& name) {
  if (task_ != "multiple_choice") return {make(example, name)};
  const Integers &ids = integers(example, "input_ids"),
                 &segments = integers(example, "segment_ids"),
                 &choice = integers(example, "choice");
  std::vector<Example> records;
  int64_t choices = choice.back() + 1;
  for (size_t begin = 0, end = 0; begin < ids.size(); begin = end) {
    while (end < ids.size() && choice[end] == choice[begin]) ++end;
    auto part = [&](const Integers& all) {
      return Integers(all.begin() + static_cast<ptrdiff_t>(begin),
                      all.begin() + static_cast<ptrdiff_t>(end));
    };
    Example one = {{"input_ids", part(ids)},
                   {"segment_ids", part(segments)},
                   {"label", integers(example, "label")}};
    if (auto id = example.find("id"); id != example.end()) one["id"] = id->second;
    Example record = make(one, name);
    record["choice"] = Integers{choice[begin], choices};
    records.push_back(std::move(record));
  }
  return records;
}

RecordedReader::RecordedReader(const std::string& uri, const RecordBounds& bounds)
    : bounds_(bounds), reader_(opened(uri), false, false) {}

bool RecordedReader::next() {
  std::string record;
  if (!reader_.next(record)) return false;
  try {
    example_ = parse_example(record);
    slots_ = integers(example_, "input_ids").size();
  } catch (const Error& e) {
    throw e.within(reader_.place());
  }
  auto width = static_cast<size_t>(bounds_.width);
  if (slots_ == 0 || (width != 0 && slots_ != width)) {
    fail("input_ids", fmt::format("{} values", slots_),
         width == 0 ? "one at least" : fmt::format("{}, as the meta data say,", width));
  }
  return true;
}

PairInput RecordedReader::input() const {
  const Integers& ids = integers_of("input_ids", slots_, 0, bounds_.vocabulary - 1);
  const Integers& mask = integers_of("input_mask", slots_, 0, 1);
  const Integers& segments = integers_of("segment_ids", slots_, 0, 1);
  auto length = static_cast<size_t>(std::find(mask.begin(), mask.end(), 0) - mask.begin());
  if (length == 0 || std::any_of(mask.begin() + static_cast<ptrdiff_t>(length), mask.end(),
                                 [](int64_t one) { return one != 0; })) {
    fail("input_mask", "ones and zeros in no such order", "ones, then zeros,");
  }
  if (std::cmp_greater(length, bounds_.most)) {
    fail("input_mask", fmt::format("{} tokens", length),
         fmt::format("at most {}, the model's length,", bounds_.most));
  }
  PairInput input;
  input.ids.assign(ids.begin(), ids.begin() + static_cast<ptrdiff_t>(length));
  auto end = segments.begin() + static_cast<ptrdiff_t>(length);
  auto second = std::find(segments.begin(), end, 1);
  if (std::find(second, end, 0) != end) {
    fail("segment_ids", "zeros behind ones", "zeros, then ones,");
  }
  if (second != end && bounds_.segments < 2) {
    fail("segment_ids", "1",
         fmt::format("0, as the model's type_vocab_size is {},", bounds_.segments));
  }
  input.first = static_cast<uint32_t>(second - segments.begin());
  return input;
}

void RecordedReader::fail(std::string_view feature, std::string_view found,
                          std::string_view expected) const {
  throw error("{}: feature '{}': {}; {} expected", reader_.place(), feature, found, expected);
}

const std::vector<int64_t>& RecordedReader::integers_of(std::string_view feature, size_t count,
                                                        int64_t least, int64_t most) const {
  const Integers* values = nullptr;
  try {
    values = &integers(example_, feature);
  } catch (const Error& e) {
    throw e.within(reader_.place());
  }
  if (count != 0 && values->size() != count) {
    fail(feature, fmt::format("{} values", values->size()), fmt::format("{}", count));
  }
  for (int64_t value : *values) {
    if (value >= least && value <= most) continue;
    fail(feature, std::to_string(value), fmt::format("a number from {} to {}", least, most));
  }
  return *values;
}

int64_t RecordedReader::integer(std::string_view feature, int64_t least, int64_t most) const {
  return integers_of(feature, 1, least, most)[0];
}

float RecordedReader::real(std::string_view feature) const {
  auto found = example_.find(feature);
  if (found != example_.end() && std::holds_alternative<Integers>(found->second)) {
    constexpr int64_t most = int64_t{1} << 24;  // floats hold these exactly
    return static_cast<float>(integer(feature, -most, most));
  }
  const std::vector<float>* values = nullptr;
  try {
    values = &floats(example_, feature);
  } catch (const Error& e) {
    throw e.within(reader_.place());
  }
  if (values->size() != 1) fail(feature, fmt::format("{} values", values->size()), "1");
  return values->front();
}

const std::vector<std::string>& RecordedReader::texts(std::string_view feature) const {
  try {
    return strings(example_, feature);
  } catch (const Error& e) {
    throw e.within(reader_.place());
  }
}

std::string RecordedReader::text(std::string_view feature) const {
  if (!has(feature)) return "";
  const std::vector<std::string>& all = texts(feature);
  if (all.size() != 1) fail(feature, fmt::format("{} values", all.size()), "1");
  return all.front();
}

bool is_recorded(const std::string& file, const MetaData* meta) {
  return !is_read_once(file) && (starts_like_tfrecord(file) || (meta && is_empty(file)));
}

void require_records(const std::string& file, const MetaData& meta) {
  if (is_read_once(file) || !starts_like_text(file)) return;
  throw usage_error(
      "{}: text, and --input_meta_data_path={} is for records that prepare made of it", file,
      meta.file);
}

void refuse_records(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    if (file.empty() || is_read_once(file) || storage_for(file).size(file).value_or(0) == 0) {
      continue;
    }
    if (!starts_like_tfrecord(file)) continue;
    throw error(
        "{}: these are TFRecords, and text is expected. Rows that prepare --task=... recorded are "
        "trained on with --input_meta_data_path and, but for squad's, evaluated",
        file);
  }
}

void refuse_shares(double train_fraction, double dev_fraction, double usual) {
  constexpr const char* why =
      "records have no texts to draw rows by; prepare, which reads the texts, takes it";
  if (train_fraction != 1) throw usage_error("--train_fraction={}: {}", train_fraction, why);
  if (dev_fraction != 0 && dev_fraction != usual) {
    throw usage_error("--dev_fraction={}: {}", dev_fraction, why);
  }
}

MetaData read_training_meta_data(const DataOptions& options, double dev_fraction,
                                 double usual_dev_fraction, std::string_view task,
                                 const Tokenizer& tokenizer, const BertConfig& config) {
  if (options.train_file.empty()) {
    throw usage_error("--input_meta_data_path is for a --train_file of records");
  }
  refuse_shares(options.train_fraction, dev_fraction, usual_dev_fraction);
  return read_meta_data(options.input_meta_data_path, task, tokenizer, config,
                        options.max_seq_length);
}

RecordedReader open_recorded(const std::string& file, const MetaData* meta, int64_t max_seq_length,
                             const Tokenizer& tokenizer, const BertConfig& config) {
  return {file,
          {.width = meta ? meta->max_seq_length : 0,
           .most = max_seq_length,
           .vocabulary = static_cast<int64_t>(tokenizer.vocabulary().size()),
           .segments = config.type_vocab_size}};
}

}  // namespace bertrain
