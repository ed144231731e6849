// The classes of a table's labels: given, learnt from the training rows, or a trained model's.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/checked_json.h"
#include "metrics/scores.h"
#include "task/labels.h"
#include "task/table/target.h"

namespace bertrain {

// Parts of a list by commas or another separator, without blanks at their ends. Throws a usage error
// for an empty part, naming `option`; without one, empty parts are left out.
std::vector<std::string> split_list(const std::string& list, const std::string& separator,
                                    const std::string& option = "");

// `given` where it is not empty, else those found. Throws Error where there are fewer than `least` (1
// or 2), and usage errors for more than a model can hold, and found ones that were not given.
Labels learn_labels(const std::string& given, const std::vector<std::string>& found, size_t least,
                    const LabelColumn& column);

// A description's "labels". Throws Error where they are fewer than `least`, or some are alike.
Labels described_labels(const JsonValue& description, size_t least);

// What is wrong with an array where a row has one label.
inline constexpr std::string_view kNoList =
    "the label is an array, and this task takes one label a row; --task=multilabel takes any "
    "number";

// What a task's details() say of each class: {"a": {"precision": …, "recall": …, "f1": …,
// "support": …}, …}; one Hits for each label.
Json class_scores(const Labels& labels, const std::vector<Hits>& hits);

std::map<std::string, uint64_t> count_labels(const std::vector<std::string>& labels);

}  // namespace bertrain
