// The reference's keys in its order, then ours under one key of their own.
#include "task/meta_data.h"

#include <algorithm>
#include <span>

#include "base/checked_json.h"
#include "base/error.h"
#include "base/quote.h"
#include "formats/crc32c.h"
#include "storage/storage.h"
#include "task/labels.h"

namespace bertrain {
namespace {

constexpr uint64_t kMostBytes = uint64_t{64} << 20;
constexpr int64_t kMostRows = int64_t{1} << 40;
constexpr int64_t kMostNumber = INT32_MAX;
constexpr const char* kOurs = "bertrain";

struct TaskType {
  std::string_view task, type;
};
constexpr TaskType kTypes[] = {
    {"classification", "bert_classification"},
    {"multilabel", "bert_multilabel_classification"},  // ours: the reference has no such task
    {"regression", "bert_regression"},
    {"squad", "bert_squad"},
    {"tagging", "tagging"},
    {"multiple_choice", "bert_multiple_choice"},  // ours
};

std::string_view type_of(std::string_view task) {
  for (const TaskType& each : kTypes) {
    if (each.task == task) return each.type;
  }
  throw usage_error("--task={}: its rows cannot be recorded", task);
}

std::string crc_of(const Vocabulary& vocabulary) {
  uint32_t crc = 0;
  for (const std::string& token : vocabulary.tokens()) {
    std::string line = token + "\n";
    crc = crc32c(std::as_bytes(std::span(line)), crc);
  }
  return fmt::format("{:08x}", crc);
}

void require_tokenizer(const JsonValue& ours, const Tokenizer& tokenizer, const std::string& file) {
  const Vocabulary& vocabulary = tokenizer.vocabulary();
  int64_t size = ours.at("vocab_size").integer(1, kMostNumber);
  const std::string& crc = ours.at("vocab_crc32c").text();
  if (size != static_cast<int64_t>(vocabulary.size()) || crc != crc_of(vocabulary)) {
    throw error(
        "{}: the rows were cut by a vocabulary of {} pieces with checksum {}, and {} has {} with "
        "checksum {}: prepare them with the model's vocabulary",
        file, size, crc, vocabulary.name(), vocabulary.size(), crc_of(vocabulary));
  }
  if (tokenizer.byte_bpe()) return;  // knows no casing
  auto same = [&](const char* key, bool value) {
    if (ours.at(key).truth() == value) return;
    throw error("{}: the rows were cut with --{}={}, and the model's texts are with --{}={}", file,
                key, !value, key, value);
  };
  same("do_lower_case", tokenizer.options().do_lower_case);
  same("strip_accents", tokenizer.strips_accents());
}

// What the reference's keys say of a task.
Json described_by_keys(const JsonValue& meta, std::string_view task) {
  Json description = {{"task", task}};
  if (task == "squad") {
    for (const char* key : {"doc_stride", "max_query_length"}) {
      if (auto found = meta.find(key)) description[key] = found->integer(1, kMostNumber);
    }
    if (auto found = meta.find("version_2_with_negative")) {
      description["version_2_with_negative"] = found->truth();
    }
  } else if (task != "regression") {
    int64_t count = meta.at("num_labels").integer(1, static_cast<int64_t>(kMostLabels));
    Json labels = Json::array();
    for (int64_t i = 0; i < count; ++i) labels.push_back(std::to_string(i));
    description["labels"] = std::move(labels);
  }
  return description;
}

}  // namespace

Json make_meta_data(const Json& description, const std::string& processor_type,
                    const Tokenizer& tokenizer, uint64_t train_rows,
                    std::optional<uint64_t> eval_rows) {
  auto task = description.at("task").get<std::string>();
  const Json& length = description.at("max_seq_length");
  Json meta = {{"task_type", type_of(task)}};
  if (!processor_type.empty()) meta["processor_type"] = processor_type;
  if (description.contains("labels")) meta["num_labels"] = description["labels"].size();
  meta["train_data_size"] = train_rows;
  meta["max_seq_length"] = length;
  if (task == "regression") meta["label_type"] = "float";
  if (task == "tagging") {
    meta["label_type"] = "int";
    meta["label_shape"] = Json::array({length});
  }
  if (task == "squad") {
    for (const char* key : {"max_query_length", "doc_stride", "version_2_with_negative"}) {
      meta[key] = description.at(key);
    }
  }
  if (eval_rows) meta["eval_data_size"] = *eval_rows;
  meta[kOurs] = {{"vocab_size", tokenizer.vocabulary().size()},
                 {"vocab_crc32c", crc_of(tokenizer.vocabulary())},
                 {"do_lower_case", tokenizer.options().do_lower_case},
                 {"strip_accents", tokenizer.strips_accents()},
                 {"description", description}};
  return meta;
}

MetaData read_meta_data(const std::string& uri, std::string_view task, const Tokenizer& tokenizer,
                        const BertConfig& config, int64_t asked_length) {
  Json json = parse_json(read_text_up_to(uri, kMostBytes), uri);
  JsonValue all(json, uri);
  all.require_object();
  MetaData meta;
  meta.file = uri;
  JsonValue type = all.at("task_type");
  if (type.text() != type_of(task)) {
    type.fail(fmt::format("\"{}\", as --task={} says,", type_of(task), task));
  }
  if (auto weights = all.find("has_sample_weights"); weights && weights->truth()) {
    weights->fail("false (rows with weights of their own are not known here)");
  }
  JsonValue length = all.at("max_seq_length");
  meta.max_seq_length = length.integer(1, kMostNumber);
  if (meta.max_seq_length > config.positions()) {
    length.fail(fmt::format("at most {}, the model's positions,", config.positions()));
  }
  if (asked_length != 0 && asked_length != meta.max_seq_length) {
    throw usage_error("--max_seq_length={}: the records of {} have {} tokens", asked_length, uri,
                      meta.max_seq_length);
  }
  if (auto found = all.find("processor_type"); found && !found->is_null()) {
    meta.processor_type = found->text();
  }
  auto rows = [&](const char* key) -> std::optional<uint64_t> {
    auto found = all.find(key);
    if (!found) return std::nullopt;
    return static_cast<uint64_t>(found->integer(0, kMostRows));
  };
  meta.train_rows = rows("train_data_size");
  meta.eval_rows = rows("eval_data_size");
  meta.description = described_by_keys(all, task);
  if (auto ours = all.find(kOurs)) {
    ours->require_object();
    require_tokenizer(*ours, tokenizer, uri);
    JsonValue description = ours->at("description");
    description.require_object();
    JsonValue named = description.at("task");
    if (named.text() != task) named.fail(fmt::format("\"{}\"", task));
    if (auto labels = description.find("labels");
        labels && labels->texts().size() != meta.description["labels"].size()) {
      labels->fail(fmt::format("{} labels (num_labels)", meta.description["labels"].size()));
    }
    meta.description = description.json();
    meta.is_described = true;
  }
  meta.description["max_seq_length"] = meta.max_seq_length;
  return meta;
}

void require_rows(const std::string& file, uint64_t records, std::optional<uint64_t> expected,
                  const MetaData& meta) {
  if (!expected || *expected == records) return;
  throw error("{}: {} records, and {} says {}: the two are not of one preparation", file, records,
              meta.file, *expected);
}

}  // namespace bertrain
