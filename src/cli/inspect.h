// What the inspect command knows of: a table of kinds of files, each recognised by content and described by itself.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

#include "cli/options.h"

namespace bertrain {

struct InspectOptions {
  bool verify = false;
  int64_t show = 1;
  std::string vocab_file;
  bool do_lower_case = true;

  EachOption each();
};

// One kind of file or folder. A new kind is a file inspect_KIND.cpp with one of these, and a line in the table of
// inspect_command.cpp; the first in the table that takes a path describes it.
struct Inspector {
  std::string_view kind;  // "TFRecord": for the list of what is known
  // Whether this path is of the kind. `start` is the first 64 KiB, gzip unpacked; empty for a folder or a checkpoint's
  // prefix, which is no file itself.
  bool (*takes)(const std::string& path, std::string_view start);
  // Prints what is in it. Throws an Error for damage.
  void (*describe)(const std::string& path, const InspectOptions& options, std::ostream& out);
};

extern const Inspector kInspectRun;
extern const Inspector kInspectRecords;
extern const Inspector kInspectCheckpoint;
extern const Inspector kInspectVocabulary;
extern const Inspector kInspectCorpus;

}  // namespace bertrain
