// The list of layouts.
#include "task/table/layouts.h"

#include <algorithm>
#include <stdexcept>

#include "base/error.h"
#include "base/quote.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

using File = TableLayout::File;

constexpr size_t kMostLine = 1 << 16;

// Columns: the text, the second one, the label.
TextColumns columns(std::string text, std::string text_b, std::string label) {
  TextColumns columns;
  columns.text = std::move(text);
  columns.text_b = std::move(text_b);
  columns.label = std::move(label);
  return columns;
}

// train.tsv, dev.tsv and test.tsv with one header, but for the label.
std::vector<File> usual(const TextColumns& known, const std::string& submission) {
  TextColumns unknown = known;
  unknown.label = "";
  return {{"train", "train.tsv", known, true, ""},
          {"dev", "dev.tsv", known, true, ""},
          {"test", "test.tsv", unknown, true, submission}};
}

TableLayout table(std::string name, std::string folder, std::string labels, std::vector<File> files,
                  std::string metric, std::vector<std::string> scores) {
  TableLayout layout;
  layout.name = std::move(name);
  layout.folder = std::move(folder);
  layout.kind = labels.empty() ? "regression" : "classification";
  layout.labels = std::move(labels);
  layout.format = "tsv";
  layout.files = std::move(files);
  layout.metric = std::move(metric);
  layout.scores = std::move(scores);
  return layout;
}

TableLayout mnli() {
  TextColumns known = columns("sentence1", "sentence2", "gold_label");
  TextColumns unknown = columns("sentence1", "sentence2", "");
  return table("mnli", "MNLI", "contradiction,entailment,neutral",
               {{"train", "train.tsv", known, true, ""},
                {"dev", "dev_matched.tsv", known, true, ""},
                {"dev_mismatched", "dev_mismatched.tsv", known, true, ""},
                {"test_matched", "test_matched.tsv", unknown, true, "MNLI-m.tsv"},
                {"test_mismatched", "test_mismatched.tsv", unknown, true, "MNLI-mm.tsv"}},
               "eval_accuracy", {"eval_accuracy", "mismatched_eval_accuracy"});
}

// Chinese, as the reference code has it: what was trained on there calls a contradiction otherwise.
TableLayout xnli() {
  TextColumns train = columns("premise", "hypo", "label");
  train.renamed = {"contradictory", "contradiction"};
  TextColumns dev = columns("sentence1", "sentence2", "gold_label");
  dev.only = {"language", "zh"};
  TableLayout layout = table("xnli", "", "contradiction,entailment,neutral",
                             {{"train", "multinli/multinli.train.zh.tsv", train, true, ""},
                              {"dev", "xnli.dev.tsv", dev, true, ""}},
                             "eval_accuracy", {"eval_accuracy"});
  return layout;
}

// How alike two sentences are.
TableLayout sts_b() {
  TableLayout layout =
      table("sts-b", "STS-B", "", usual(columns("sentence1", "sentence2", "score"), "STS-B.tsv"),
            "eval_pearson", {"eval_pearson", "eval_spearman"});
  layout.numbers = {0, 5};
  return layout;
}

TableLayout ag_news() {
  TableLayout layout = table("ag_news", "", "1,2,3,4",
                             {{"train", "train.csv", columns("2", "3", "1"), false, ""},
                              {"dev", "test.csv", columns("2", "3", "1"), false, ""}},
                             "eval_accuracy", {"eval_accuracy", "eval_macro_f1"});
  layout.format = "csv";
  return layout;
}

std::vector<TableLayout> all_layouts() {
  const std::vector<std::string> accuracy = {"eval_accuracy"};
  const std::vector<std::string> f1 = {"eval_f1", "eval_accuracy"};
  TextColumns cola = columns("4", "", "2"), mrpc = columns("4", "5", "1");
  return {
      table("cola", "CoLA", "0,1",
            {{"train", "train.tsv", cola, false, ""},
             {"dev", "dev.tsv", cola, false, ""},
             {"test", "test.tsv", columns("sentence", "", ""), true, "CoLA.tsv"}},
            "eval_matthews", {"eval_matthews"}),
      table("sst-2", "SST-2", "0,1", usual(columns("sentence", "", "label"), "SST-2.tsv"),
            "eval_accuracy", accuracy),
      table("mrpc", "MRPC", "0,1",
            {{"train", "train.tsv", mrpc, true, ""},
             {"dev", "dev.tsv", mrpc, true, ""},
             {"test", "test.tsv", columns("4", "5", ""), true, "MRPC.tsv"}},
            "eval_f1", f1),
      sts_b(),
      table("qqp", "QQP", "0,1",
            usual(columns("question1", "question2", "is_duplicate"), "QQP.tsv"), "eval_f1", f1),
      mnli(),
      table("qnli", "QNLI", "entailment,not_entailment",
            usual(columns("question", "sentence", "label"), "QNLI.tsv"), "eval_accuracy", accuracy),
      table("rte", "RTE", "entailment,not_entailment",
            usual(columns("sentence1", "sentence2", "label"), "RTE.tsv"), "eval_accuracy",
            accuracy),
      table("wnli", "WNLI", "0,1", usual(columns("sentence1", "sentence2", "label"), "WNLI.tsv"),
            "eval_accuracy", accuracy),
      xnli(),
      ag_news(),
  };
}

const std::vector<TableLayout>& layouts() {
  static const std::vector<TableLayout> kAll = all_layouts();
  return kAll;
}

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  for (size_t start = 0; start <= line.size();) {
    size_t end = std::min(line.find('\t', start), line.size());
    fields.push_back(line.substr(start, end - start));
    start = end + 1;
  }
  return fields;
}

// How many columns that the training table of the layout is read by a header has; 0: it lacks one.
size_t columns_found(const TableLayout& layout, const std::vector<std::string>& header) {
  const File& train = layout.file("train");
  if (!train.header) return 0;
  std::vector<std::string> wanted = {train.columns.text, train.columns.text_b, train.columns.label};
  if (layout.name == "mrpc") wanted = {"Quality", "#1 ID", "#2 ID"};  // read by their numbers
  size_t count = 0;
  for (const std::string& column : wanted) {
    if (column.empty()) continue;
    if (std::find(header.begin(), header.end(), column) == header.end()) return 0;
    ++count;
  }
  return count;
}

}  // namespace

const TableLayout::File& TableLayout::file(std::string_view split) const {
  for (std::string_view start : {split, std::string_view("dev")}) {
    for (const File& file : files) {
      if (file.split.starts_with(start)) return file;
    }
  }
  throw std::logic_error("every layout has a development set");
}

const TableLayout* find_layout(std::string_view name) {
  for (const TableLayout& layout : layouts()) {
    if (layout.name == name) return &layout;
  }
  return nullptr;
}

std::vector<std::string> layout_names() {
  std::vector<std::string> names;
  for (const TableLayout& layout : layouts()) names.push_back(layout.name);
  return names;
}

void require_layout(const TableLayout& layout, const File& file, const std::string& path) {
  if (layout.format != "tsv" || file.split.starts_with("test") || file.columns.only) return;
  std::string line;
  if (!read_lines(path)->next(line) || line.size() > kMostLine) return;
  if (line.starts_with("\ufeff")) line.erase(0, 3);
  std::vector<std::string> header = fields_of(line);
  // A pair's columns may hold those of a single text (QNLI's SST-2's): what has more of them it is.
  size_t most = 0;
  std::vector<std::string> names;
  for (const TableLayout& one : layouts()) {
    size_t found = columns_found(one, header);
    if (found == 0 || found < most) continue;
    if (found > most) names.clear();
    most = found;
    names.push_back(one.name);
  }
  bool is_own = std::find(names.begin(), names.end(), layout.name) != names.end();
  if (names.empty() || (file.header && is_own)) return;
  throw error("{}: this looks like a table of {}, not of {}: its first line is {}", path,
              fmt::join(names, " or "), layout.name, quote(line));
}

}  // namespace bertrain
