// Predictions as JSON lines and as TSV.
#include "cli/row_printer.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "task/squad/squad_task.h"
#include "task/tagging/conll.h"

namespace bertrain {
namespace {

// The shortest text that reads back as the same float, as a double of the same text.
double shown(float value) { return std::stod(fmt::format("{}", value)); }

const std::string* text_of(const Example& row, std::string_view name) {
  return row.contains(name) ? &strings(row, name).at(0) : nullptr;
}

// A row of a classifier, of one that gives any number of labels, or of a regression: what there is.
class JsonPrinter final : public RowPrinter {
 public:
  JsonPrinter(std::vector<std::string> labels, bool logits)
      : labels_(std::move(labels)), logits_(logits) {}

  std::string line(const Example& row) const override {
    Json json = Json::object();
    if (const std::string* id = text_of(row, "id")) json["id"] = *id;
    if (row.contains("label")) {
      json["label"] = *text_of(row, "label");
      json["probability"] = shown(floats(row, "probability").at(0));
    }
    if (row.contains("labels")) json["labels"] = strings(row, "labels");
    if (row.contains("value")) json["value"] = shown(floats(row, "value").at(0));
    for (const char* name : {"probabilities", "logits"}) {
      if (!row.contains(name)) continue;
      if (name == std::string_view("logits") && !logits_) continue;
      const std::vector<float>& all = floats(row, name);
      // Labels are distinct, so nothing need be searched, which takes the square of their number.
      auto& named = (json[name] = Json::object()).get_ref<Json::object_t&>();
      for (size_t c = 0; c < labels_.size(); ++c) named.push_back({labels_[c], shown(all[c])});
    }
    if (row.contains("gold")) {
      if (row.contains("labels")) {
        json["gold"] = strings(row, "gold");
      } else if (row.contains("value")) {
        json["gold"] = std::stod(*text_of(row, "gold"));
      } else {
        json["gold"] = *text_of(row, "gold");
      }
      json["loss"] = shown(floats(row, "loss").at(0));
    }
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }

 private:
  std::vector<std::string> labels_;
  bool logits_;
};

// {"id": …, "answer": …, "n_best": [{"text": …, "probability": …, "start_logit": …, "end_logit": …}, …]},
// of SQuAD 2.0 with "null_odds".
class AnswerPrinter final : public RowPrinter {
 public:
  explicit AnswerPrinter(bool version_2) : version_2_(version_2) {}

  std::string line(const Example& row) const override {
    SquadPrediction prediction = squad_prediction_of(row);
    Json json = {{"id", *text_of(row, "id")}, {"answer", prediction.text}};
    if (version_2_) json["null_odds"] = prediction.null_odds;
    Json& all = json["n_best"] = Json::array();
    for (const SquadCandidate& c : prediction.n_best) {
      all.push_back({{"text", c.text},
                     {"probability", c.probability},
                     {"start_logit", shown(static_cast<float>(c.start_logit))},
                     {"end_logit", shown(static_cast<float>(c.end_logit))}});
    }
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }

 private:
  bool version_2_;
};

// {"text": …, "masks": [[{"token": …, "id": …, "probability": …}, …], …]}: a list for each mask.
class MaskPrinter final : public RowPrinter {
 public:
  explicit MaskPrinter(bool logits) : logits_(logits) {}

  std::string line(const Example& row) const override {
    const std::vector<std::string>& tokens = strings(row, "token");
    const std::vector<int64_t>& ids = integers(row, "token_id");
    const std::vector<float>& probabilities = floats(row, "probability");
    Json masks = Json::array();
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (i % static_cast<size_t>(integers(row, "kept").at(0)) == 0) masks.push_back(Json::array());
      masks.back().push_back(
          {{"token", tokens[i]}, {"id", ids[i]}, {"probability", shown(probabilities[i])}});
      if (logits_) masks.back().back()["logit"] = shown(floats(row, "logit")[i]);
    }
    Json json = {{"text", *text_of(row, "text")}, {"masks", std::move(masks)}};
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }

 private:
  bool logits_;
};

// A sentence as it was read, with its tags.
class ConllPrinter final : public RowPrinter {
 public:
  // `beside`: known tags stay, and those predicted come behind the last column.
  explicit ConllPrinter(bool beside) : beside_(beside) {}

  std::string line(const Example& row) const override {
    std::optional<size_t> column;
    if (!beside_ && row.contains("tag_column")) {
      column = static_cast<size_t>(integers(row, "tag_column").at(0));
    }
    return tagged_lines(strings(row, "lines"), integers(row, "word_lines"), column,
                        strings(row, "tags"));
  }

 private:
  bool beside_;
};

// {"words": […], "tags": […], "probabilities": […], "gold": […]}; lines without words are no row.
class TagJsonPrinter final : public RowPrinter {
 public:
  std::string line(const Example& row) const override {
    if (strings(row, "words").empty()) return "";
    Json json = {{"words", strings(row, "words")}, {"tags", strings(row, "tags")}};
    Json& probabilities = json["probabilities"] = Json::array();
    for (float p : floats(row, "probabilities")) probabilities.push_back(shown(p));
    if (row.contains("gold")) json["gold"] = strings(row, "gold");
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
};

// Every row has every column, in one order; what is not known is empty. A class's column has its name;
// where a class is called as one of the other columns, all of them begin with "probability:".
class TsvPrinter final : public RowPrinter {
 public:
  TsvPrinter(std::string task, std::vector<std::string> labels, std::string separator)
      : task_(std::move(task)), labels_(std::move(labels)), separator_(std::move(separator)) {}

  std::string head() const override {
    std::vector<std::string> columns = {"id"};
    if (task_ == "classification" || task_ == "multiple_choice") {
      columns.insert(columns.end(), {"label", "probability"});
    } else {
      columns.emplace_back(task_ == "regression" ? "value" : "labels");
    }
    columns.insert(columns.end(), {"gold", "loss"});
    bool taken = std::ranges::any_of(labels_, [&](const std::string& label) {
      return std::ranges::find(columns, field(label)) != columns.end();
    });
    for (const std::string& label : labels_) {
      columns.push_back((taken ? "probability:" : "") + field(label));
    }
    return fmt::format("{}\n", fmt::join(columns, "\t"));
  }

  std::string line(const Example& row) const override {
    const std::string* id = text_of(row, "id");
    std::string text = id ? field(*id) : "";
    if (task_ == "regression") {
      text += fmt::format("\t{}", floats(row, "value").at(0));
    } else if (task_ == "multilabel") {
      text += "\t" + joined(row, "labels");
    } else {
      text +=
          fmt::format("\t{}\t{}", field(*text_of(row, "label")), floats(row, "probability").at(0));
    }
    bool known = row.contains("gold");
    text += "\t" + (known ? joined(row, "gold") : "");
    text += "\t" + (known ? fmt::format("{}", floats(row, "loss").at(0)) : "");
    if (task_ != "regression") {
      for (float p : floats(row, "probabilities")) text += fmt::format("\t{}", p);
    }
    return text + "\n";
  }

 private:
  static std::string field(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
    return text;
  }
  std::string joined(const Example& row, std::string_view name) const {
    return field(fmt::format("{}", fmt::join(strings(row, name), separator_)));
  }
  std::string task_;
  std::vector<std::string> labels_;
  std::string separator_;  // as in the tables that were trained on
};

}  // namespace

void require_output_format(const std::string& format) {
  for (std::string_view known : {"", "jsonl", "tsv", "conll", "conlleval"}) {
    if (format == known) return;
  }
  throw usage_error("--output_format={}: jsonl or tsv expected, of a tagger conll or conlleval",
                    format);
}

std::unique_ptr<RowPrinter> make_row_printer(const std::string& format, const Json& task,
                                             bool logits) {
  require_output_format(format);
  const Json& kind = task["task"];
  bool has_logits = kind == "classification" || kind == "multilabel" || kind == "multiple_choice";
  if (logits && (format == "tsv" || !has_logits)) {
    throw usage_error(
        "--logits has no effect here: they are beside the probabilities of classes, of choices and "
        "of what fills [MASK], in jsonl");
  }
  if (task["task"] == "squad") {
    if (format.empty() || format == "jsonl") {
      return std::make_unique<AnswerPrinter>(task.value("version_2_with_negative", false));
    }
    throw usage_error("--output_format={}: answers are written as json (SQuAD's files) or jsonl",
                      format);
  }
  if (task["task"] == "tagging") {
    if (format == "jsonl") return std::make_unique<TagJsonPrinter>();
    if (format != "tsv") return std::make_unique<ConllPrinter>(format == "conlleval");
    throw usage_error("--output_format={}: a tagger writes conll, conlleval or jsonl", format);
  }
  if (format.starts_with("conll")) {
    throw usage_error("--output_format={}: that is for tagging; jsonl or tsv expected", format);
  }
  std::vector<std::string> labels;
  if (task.contains("labels")) labels = task["labels"].get<std::vector<std::string>>();
  if (format != "tsv") return std::make_unique<JsonPrinter>(std::move(labels), logits);
  return std::make_unique<TsvPrinter>(task["task"].get<std::string>(), std::move(labels),
                                      task.value("label_separator", ","));
}

std::string predictions_file(const Json& task) {
  return task["task"] == "tagging" ? "test_predictions.conll" : "test_predictions.jsonl";
}

std::unique_ptr<RowPrinter> make_mask_printer(const std::string& format, bool logits) {
  if (format.empty() || format == "jsonl") return std::make_unique<MaskPrinter>(logits);
  throw usage_error("--output_format={}: what fills [MASK] is written as jsonl", format);
}

}  // namespace bertrain
