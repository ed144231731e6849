// Tables as GLUE [Wang et al. 2019], XNLI [Conneau et al. 2018] and AG News [Zhang et al. 2015] are
// distributed: which files a folder holds, which columns they have, which score counts.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "task/table/text_rows.h"

namespace bertrain {

struct TableLayout {
  struct File {
    std::string split;  // "train", "dev", "dev_mismatched", "test", …
    std::string name;   // in the folder
    TextColumns columns;
    bool header = true;
    std::string submission;  // of a test file: what its predictions are handed in as
  };
  std::string name;    // "mnli"
  std::string folder;  // in GLUE's: "MNLI"; empty: none of the nine
  std::string kind;    // "classification" or "regression"
  std::string labels;  // by commas, in the order of the task's makers; none: numbers
  std::optional<std::pair<double, double>> numbers = {};  // of a regression: from, to
  std::string format;                                     // of the files
  std::vector<File> files;
  std::string metric;               // of a development set: what decides which model is kept
  std::vector<std::string> scores;  // what the benchmark reports of it

  // The first file of that split ("dev", "test": also "test_matched"); where there is none, of "dev".
  const File& file(std::string_view split) const;
};

// Null: no such layout. Names are lower-case: cola, sst-2, mrpc, sts-b, qqp, mnli, qnli, rte, wnli,
// xnli, ag_news.
const TableLayout* find_layout(std::string_view name);
std::vector<std::string> layout_names();

// Throws Error where the first line of the file is the header of another layout: "… looks like MRPC".
void require_layout(const TableLayout& layout, const TableLayout::File& file,
                    const std::string& path);

}  // namespace bertrain
