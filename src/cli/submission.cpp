// Test tables through a trained model, into the benchmark's files.
#include "cli/submission.h"

#include "base/log.h"
#include "storage/file_group.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

constexpr int64_t kBatch = 32;

std::string answer_of(const Example& row) {
  if (row.contains("value")) return fmt::format("{:.3f}", floats(row, "value").at(0));
  return strings(row, "label").at(0);
}

}  // namespace

std::vector<std::string> write_submission(const TableLayout& layout, const std::string& data_dir,
                                          const std::string& folder, InferenceOptions how) {
  FileGroup files;  // matched and mismatched ones are of one model
  std::vector<std::string> written;
  for (const TableLayout::File& file : layout.files) {
    if (file.submission.empty()) continue;
    how.input_file = join_path(data_dir, file.name);
    if (!storage_for(how.input_file).size(how.input_file)) {
      log_line("{}: not there, so {} is not written", how.input_file, file.submission);
      continue;
    }
    TrainedModel model(how, "test", kBatch);
    std::string name = join_path(folder, file.submission);
    Writer& writer = files.create(name);
    auto append = [&](const std::string& line) { writer.append(std::as_bytes(std::span(line))); };
    append("index\tprediction\n");
    uint64_t index = 0;
    model.run(false, 0, [&](const Example& row) {
      append(fmt::format("{}\t{}\n", index++, answer_of(row)));
    });
    written.push_back(name);
  }
  files.commit();
  return written;
}

}  // namespace bertrain
