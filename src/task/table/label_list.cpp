// Lists of classes with all that can be wrong with them.
#include "task/table/label_list.h"

#include <set>

#include "base/error.h"
#include "base/quote.h"

namespace bertrain {
namespace {

constexpr std::string_view kOtherColumn = "is it the label column? --label_column names another";
constexpr std::string_view kWayOut =
    "is it the label column? --label_column names another; to classify, rare labels have to be "
    "joined; numbers are for --task=regression";

// `where`: "t.tsv: column 'label' has", or "--labels has".
void refuse_many(const Labels& labels, const std::string& where) {
  if (labels.size() > kMostLabels) {
    throw usage_error("{} {} different labels, a classifier at most {}: {}", where, labels.size(),
                      kMostLabels, kWayOut);
  }
  if (labels.bytes() > kMostLabelBytes) {
    throw usage_error("{} {} different labels of {} bytes together, a classifier at most {}: {}",
                      where, labels.size(), labels.bytes(), kMostLabelBytes, kWayOut);
  }
}

std::string trimmed(const std::string& text) {
  size_t begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t");
  return begin == std::string::npos ? "" : text.substr(begin, end + 1 - begin);
}

}  // namespace

std::string TextTarget::misfit(const RowLabel& label) const {
  return label.list ? "the label is an array, and this task takes one label a row; "
                      "--task=multilabel takes any number"
                    : "";
}

std::vector<std::string> split_list(const std::string& list, const std::string& separator,
                                    const std::string& option) {
  std::vector<std::string> parts;
  if (list.empty()) return parts;
  for (size_t start = 0; start <= list.size();) {
    size_t end = std::min(list.find(separator, start), list.size());
    std::string part = trimmed(list.substr(start, end - start));
    if (!part.empty()) {
      parts.push_back(std::move(part));
    } else if (!option.empty()) {
      throw usage_error("--{}={}: a name is empty", option, list);
    }
    start = end + separator.size();
  }
  return parts;
}

Labels learn_labels(const std::vector<std::string>& found, size_t least,
                    const LabelColumn& column) {
  Labels labels = Labels::learn(found);
  std::string name = quote(column.name);
  refuse_many(labels, fmt::format("{}: column {} has", column.file, name));
  if (labels.size() == 0) {
    throw error("{}: no row has a label in column {}, so there is nothing to learn: {}",
                column.file, name, kOtherColumn);
  }
  if (labels.size() < least) {
    throw error("{}: column {} has only the label {}; a classifier needs two at least", column.file,
                name, labels.list());
  }
  return labels;
}

std::shared_ptr<const Labels> given_labels(const TargetOptions& options, size_t least) {
  if (options.labels.empty()) return nullptr;
  std::vector<std::string> names = split_list(options.labels, ",", "labels");
  if (std::set<std::string>(names.begin(), names.end()).size() < names.size()) {
    throw usage_error("--labels={}: a class is named twice", options.labels);
  }
  auto labels = std::make_shared<Labels>(std::move(names));
  refuse_many(*labels, "--labels has");
  if (labels->size() < least) {
    throw usage_error("--labels={}: a classifier needs two classes at least", options.labels);
  }
  return labels;
}

std::string unknown_label(const std::string& label, const Labels& labels,
                          const TargetOptions& options) {
  std::string name = quote(label), list = labels.list();
  if (options.labels.empty()) {
    return fmt::format("label {} is not among the model's: {}", name, list);
  }
  if (options.benchmark.empty()) {
    return fmt::format("label {} is not among those of --labels: {}", name, list);
  }
  return fmt::format("label {} is not among those of {}: {}; --task=classification takes any", name,
                     options.benchmark, list);
}

Labels described_labels(const JsonValue& description, size_t least) {
  JsonValue value = description.at("labels");
  std::vector<std::string> names = value.texts();
  if (std::set<std::string>(names.begin(), names.end()).size() < names.size()) {
    value.fail("names of classes, each once");
  }
  Labels labels(std::move(names));
  if (labels.size() < least) value.fail(least == 1 ? "a label or more" : "two labels or more");
  if (labels.size() > kMostLabels || labels.bytes() > kMostLabelBytes) {
    value.fail(fmt::format("at most {} labels of {} bytes together", kMostLabels, kMostLabelBytes));
  }
  return labels;
}

Json class_scores(const Labels& labels, const std::vector<Hits>& hits) {
  Json classes = Json::object();
  // Labels are distinct, so nothing need be searched, which takes the square of their number.
  auto& entries = classes.get_ref<Json::object_t&>();
  for (size_t c = 0; c < hits.size(); ++c) {
    entries.push_back({labels.name(c),
                       {{"precision", hits[c].precision()},
                        {"recall", hits[c].recall()},
                        {"f1", hits[c].f1()},
                        {"support", hits[c].support()}}});
  }
  return classes;
}

std::map<std::string, uint64_t> count_labels(const std::vector<std::string>& labels) {
  std::map<std::string, uint64_t> counts;
  for (const std::string& label : labels) ++counts[label];
  return counts;
}

}  // namespace bertrain
