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

void refuse_many(const Labels& labels, const LabelColumn& column) {
  if (labels.size() > kMostLabels) {
    throw usage_error("{}: column {} has {} different labels, a classifier at most {}: {}",
                      column.file, quote(column.name), labels.size(), kMostLabels, kWayOut);
  }
  if (labels.bytes() > kMostLabelBytes) {
    throw usage_error(
        "{}: the {} different labels of column {} have {} bytes together, a classifier's at most "
        "{}: {}",
        column.file, labels.size(), quote(column.name), labels.bytes(), kMostLabelBytes, kWayOut);
  }
}

std::string trimmed(const std::string& text) {
  size_t begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t");
  return begin == std::string::npos ? "" : text.substr(begin, end + 1 - begin);
}

}  // namespace

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

Labels learn_labels(const std::string& given, const std::vector<std::string>& found, size_t least,
                    const LabelColumn& column) {
  Labels labels;
  if (given.empty()) {
    labels = Labels::learn(found);
    refuse_many(labels, column);
  } else {
    std::vector<std::string> names = split_list(given, ",", "labels");
    if (std::set<std::string>(names.begin(), names.end()).size() < names.size()) {
      throw usage_error("--labels={}: a class is named twice", given);
    }
    labels = Labels(std::move(names));
    refuse_many(labels, {"--labels", column.name});
    for (const std::string& label : found) {
      if (labels.find(label) >= 0) continue;
      throw usage_error("{}: column {} has label {}, which --labels={} does not name", column.file,
                        quote(column.name), quote(label), given);
    }
  }
  if (labels.size() == 0) {
    throw error("{}: no row has a label in column {}, so there is nothing to learn: {}",
                column.file, quote(column.name), kOtherColumn);
  }
  if (labels.size() < least) {
    throw error("{}: column {} has only the label {}; a classifier needs two at least", column.file,
                quote(column.name), labels.list());
  }
  return labels;
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
