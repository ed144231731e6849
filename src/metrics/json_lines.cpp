// JSON lines: what JSON cannot say becomes null, and a resumed run does not say a step twice.
#include "metrics/json_lines.h"

#include <cmath>
#include <filesystem>

#include "storage/storage.h"

namespace bertrain {
namespace {

void clear_non_finite(Json& value) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) value = nullptr;
  if (value.is_structured()) {
    for (Json& inner : value) clear_non_finite(inner);
  }
}

// A whole line of a step that is done; others were cut off by a kill, or will be written again.
bool stays(const std::string& line, int64_t last_step) {
  Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return false;
  auto step = json.find("step");
  return step == json.end() || !step->is_number_integer() || step->get<int64_t>() <= last_step;
}

void drop_later_lines(const std::string& path, int64_t last_step) {
  if (path.find("://") != std::string::npos || !storage_for(path).size(path)) return;
  refuse_pipe(path);
  std::string kept;
  auto lines = read_lines(path);
  for (std::string line; lines->next(line);) {
    if (stays(line, last_step)) kept += line + "\n";
  }
  if (kept.size() != storage_for(path).size(path)) write_text(path, kept);
}

}  // namespace

std::string json_line(const Json& value) {
  Json copy = value;
  clear_non_finite(copy);
  return copy.dump(-1, ' ', false, Json::error_handler_t::replace);
}

JsonLines::JsonLines(std::string_view uri, int64_t last_step) {
  drop_later_lines(std::string(uri), last_step);
  file_ = open_growing_file(uri);
}

void JsonLines::add(int64_t step, const Json& values) {
  Json line = {{"step", step}};
  line.update(values);
  file_->append(json_line(line) + "\n");
}

}  // namespace bertrain
