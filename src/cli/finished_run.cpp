// Fingerprints of results.
#include "cli/finished_run.h"

#include "base/error.h"
#include "checkpoint/model_folder.h"
#include "storage/storage.h"
#include "train/fingerprint.h"
#include "train/run_directory.h"

namespace bertrain {

Json about_rows(const std::string& file) {
  Json about = {{"file", file}};
  if (!is_read_once(file)) about.update(fingerprint(file));
  return in_utf8(about);
}

Json about_model(const std::string& folder) {
  Json about = Json::object();
  for (const std::string& name : model_files(folder)) {
    about[name] = fingerprint(join_path(folder, name));
  }
  return about;
}

void refuse_changed_model(const std::string& folder, const Json& results) {
  auto before = results.find("model");
  if (before == results.end() || !before->is_object()) return;  // of an earlier version
  for (const std::string& name : model_files(folder)) {
    std::string file = join_path(folder, name);
    auto about = before->find(name);
    if (about == before->end() || !exists(file) || fingerprint(file) == *about) continue;
    throw error(
        "{}: it is not what the run, which is finished, wrote: remove it (the same command then "
        "writes it again from the checkpoint), or use another --output_dir",
        file);
  }
}

}  // namespace bertrain
