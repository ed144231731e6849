// The inspect command: finds out what each path is, by content, and lets that kind describe it.
#include "cli/inspect_command.h"

#include <filesystem>
#include <limits>
#include <ostream>
#include <vector>

#include "base/error.h"
#include "cli/inspect.h"
#include "cli/run_group.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

constexpr size_t kStartBytes = size_t{64} << 10;

// The first that takes a path has it, so what is told by a mark stands before what is told by looks.
const Inspector* const kInspectors[] = {&kInspectRun, &kInspectRecords, &kInspectCheckpoint,
                                        &kInspectVocabulary, &kInspectCorpus};

std::string start_of(const std::string& path) {
  if (!storage_for(path).size(path)) return "";
  std::string start(kStartBytes, '\0');
  start.resize(read_bytes(path)->read(std::as_writable_bytes(std::span(start))));
  if (start.empty()) throw error("{}: the file is empty", path);
  return start;
}

void inspect(const std::string& path, const InspectOptions& options, std::ostream& out) {
  std::string start = start_of(path), kinds;
  for (const Inspector* inspector : kInspectors) {
    if (inspector->takes(path, start)) return inspector->describe(path, options, out);
    kinds += (kinds.empty() ? "" : ", ") + std::string(inspector->kind);
  }
  if (start.empty() && !std::filesystem::exists(path)) throw error("{}: no such file", path);
  throw error("{}: not recognised; known are: {}", path, kinds);
}

// A folder of several runs stands for these, which may be seeds of several tasks.
void add_path(const std::string& path, int depth, std::vector<std::string>& paths) {
  constexpr int kDeepest = 2;
  std::vector<std::string> runs;
  if (depth < kDeepest) runs = runs_below(path);
  for (const std::string& run : runs) add_path(join_path(path, run), depth + 1, paths);
  if (runs.empty()) paths.push_back(path);
}

// Folders and checkpoint prefixes are no files, so a path without a pattern stays as it is.
std::vector<std::string> paths_of(const std::vector<std::string>& arguments) {
  std::vector<std::string> paths;
  for (const std::string& argument : arguments) {
    if (argument == "-") throw usage_error("inspect needs a file; standard input cannot be reread");
    if (argument.find_first_of("*?[") == std::string::npos) {
      add_path(argument, 0, paths);
      continue;
    }
    for (std::string& path : expand_globs(argument)) paths.push_back(std::move(path));
  }
  return paths;
}

void run_inspect(Args args, std::ostream& out) {
  InspectOptions options;
  if (wants_help(args)) return print_help(kInspectCommand, options.each(), out);
  std::vector<std::string> paths = paths_of(parse_options(args, options.each()));
  if (paths.empty()) throw usage_error("inspect needs a path: a file or folder to look into");
  require_between("show", options.show, 0, std::numeric_limits<int64_t>::max());
  for (const std::string& path : paths) {
    if (&path != &paths.front()) out << "\n";
    inspect(path, options, out);
  }
}

}  // namespace

EachOption InspectOptions::each() {
  return [this](OptionVisitor& v) {
    v("verify", verify, "read everything and check every checksum");
    v("show", show, "records, or lines, to print");
    v("vocab_file", vocab_file,
      "vocabulary to count a text's pieces with, and to print ids as pieces");
    v("do_lower_case", do_lower_case, "lower-case a text before its pieces are counted");
  };
}

const Command kInspectCommand = {"inspect", "what is in a file",
                                 "bertrain inspect corpus.txt --vocab_file=vocab.txt\n"
                                 "bertrain inspect train.tfrecord --verify\n"
                                 "bertrain inspect uncased_L-12_H-768_A-12/bert_model.ckpt\n"
                                 "bertrain inspect vocab.txt",
                                 run_inspect};

}  // namespace bertrain
