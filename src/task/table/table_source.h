// Which tables a task of texts reads, and how: by its options, by a benchmark's layout, and by what the
// description of a trained model says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/checked_json.h"
#include "task/table/classification.h"
#include "task/table/layouts.h"

namespace bertrain {

class TableSource {
 public:
  // One file, and the split that its rows are.
  struct Table {
    std::string split, file;
  };

  // A benchmark's own tables, where no others are named. Throws a usage error where data_dir lacks them,
  // and Error where they are another benchmark's.
  explicit TableSource(ClassificationOptions options);
  // What the options leave open is as it was when the model was trained. Throws Error that names the file
  // of the description for what cannot be; `positions` are the model's.
  void take(const JsonValue& description, int64_t positions);
  void set_max_seq_length(int64_t length) { options_.max_seq_length = length; }

  const ClassificationOptions& options() const { return options_; }
  // Those that the options name, else the layout's, else our own ("text", "label").
  TextColumns columns(std::string_view split) const;
  bool has_header(std::string_view split) const;
  bool has_dev() const;  // a file of its own to evaluate on, or several
  // Those, each looked at whether it is the layout's.
  std::vector<Table> dev_tables() const;
  void describe(Json& description) const;  // adds what take() reads

 private:
  void use_layout(const std::string& name);

  ClassificationOptions options_;
  const TableLayout* layout_ = nullptr;  // null: own tables
};

// The tables that are trained and evaluated on.
std::vector<std::string> table_files(const ClassificationOptions& options);

}  // namespace bertrain
