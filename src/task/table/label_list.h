// The classes of a table's labels: given, learnt from the training rows, or a trained model's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
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

// Those of the rows. Throws Error where there are fewer than `least` (1 or 2), and a usage error for more
// than a model can hold.
Labels learn_labels(const std::vector<std::string>& found, size_t least, const LabelColumn& column);

// Those of --labels, or of a benchmark; null where none are given. Usage errors as above, and for a name
// that is empty or comes twice.
std::shared_ptr<const Labels> given_labels(const TargetOptions& options, size_t least);

// "label 'x' is not among the model's: 'a', 'b'", --labels' or a benchmark's. `options`: that the labels
// were given by.
std::string unknown_label(const std::string& label, const Labels& labels,
                          const TargetOptions& options);

// A description's "labels". Throws Error where they are fewer than `least`, or some are alike.
Labels described_labels(const JsonValue& description, size_t least);

// What a task's details() say of each class: {"a": {"precision": …, "recall": …, "f1": …,
// "support": …}, …}; one Hits for each label.
Json class_scores(const Labels& labels, const std::vector<Hits>& hits);

std::map<std::string, uint64_t> count_labels(const std::vector<std::string>& labels);

}  // namespace bertrain
