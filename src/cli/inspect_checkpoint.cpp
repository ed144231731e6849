// What is in a checkpoint: names, types and shapes of its tensors, and the number of parameters.
#include <algorithm>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/quote.h"
#include "checkpoint/checkpoint.h"
#include "cli/inspect.h"

namespace bertrain {
namespace {

bool takes_checkpoint(const std::string& path, std::string_view) { return is_checkpoint(path); }

// An optimizer's slot is named below its parameter: "bert/pooler/dense/kernel/adam_m"; by TensorFlow
// 2 ("…/kernel/.OPTIMIZER_SLOT/optimizer/m/.ATTRIBUTES/VARIABLE_VALUE") below its object.
bool is_slot(const Named<ArrayType>& tensors, std::string_view name) {
  if (name.find("/.OPTIMIZER_SLOT/") != std::string_view::npos) return true;
  size_t slash = name.rfind('/');
  return slash != std::string_view::npos && tensors.contains(name.substr(0, slash));
}

// A slot like its parameter is listed on the parameter's line.
bool is_listed(const Named<ArrayType>& tensors, std::string_view name) {
  if (!is_slot(tensors, name)) return false;
  auto owner = tensors.find(name.substr(0, name.rfind('/')));
  return owner != tensors.end() && tensors.find(name)->second == owner->second;
}

std::string_view kind_of(CheckpointFormat format) {
  switch (format) {
    case CheckpointFormat::tf_bundle:
      return "TensorFlow";
    case CheckpointFormat::safetensors:
      return "safetensors";
    case CheckpointFormat::pytorch:
      return "PyTorch";
    case CheckpointFormat::shards:
      return "sharded";
  }
  throw std::logic_error("unknown format of a checkpoint");
}

std::string_view checksums_of(CheckpointFormat format) {
  if (format == CheckpointFormat::tf_bundle) return "every tensor and its checksum";
  if (format == CheckpointFormat::safetensors) return "every tensor; the format has no checksums";
  return "every tensor, and its checksum where the file has one";
}

// "  + adam_m, adam_v"
std::string slots_of(const Named<ArrayType>& tensors, const std::string& name) {
  std::string text;
  for (auto it = tensors.upper_bound(name + "/"); it != tensors.end(); ++it) {
    if (!it->first.starts_with(name + "/")) break;
    std::string_view rest = std::string_view(it->first).substr(name.size() + 1);
    if (rest.find('/') != std::string_view::npos || !is_listed(tensors, it->first)) continue;
    text += (text.empty() ? "  + " : ", ") + std::string(rest);
  }
  return text;
}

// Counters (global_step) and an optimizer's numbers in TensorFlow 2 (its beta_1) are no parameters.
bool is_parameter(const Named<ArrayType>& tensors, std::string_view name, const ArrayType& type) {
  if (name.starts_with("optimizer/") || name.find("/optimizer/") != std::string_view::npos) {
    return false;
  }
  bool real = type.dtype == DType::f32 || type.dtype == DType::bf16 || type.dtype == DType::f16;
  return real && !is_slot(tensors, name);
}

// The counter of updates, by Google's name or as the optimizer's object of TensorFlow 2 has it; the
// first of several such keys, which are one object's.
std::optional<std::string> counter_of(const Named<ArrayType>& tensors) {
  constexpr std::string_view kIteration = "optimizer/iter/.ATTRIBUTES/VARIABLE_VALUE";
  for (const auto& [name, type] : tensors) {
    if (type != ArrayType{DType::i64, {}}) continue;
    if (name == "global_step" || name.ends_with(kIteration)) return name;
  }
  return std::nullopt;
}

std::string with_commas(uint64_t number) {
  std::string digits = std::to_string(number), text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

void describe_checkpoint(const std::string& path, const InspectOptions& options,
                         std::ostream& out) {
  auto reader = open_checkpoint(path);
  const Named<ArrayType>& tensors = reader->tensors();
  uint64_t parameters = 0, bytes = 0;
  size_t parameter_tensors = 0, slots = 0, width = 0;
  for (const auto& [name, type] : tensors) {
    auto count = static_cast<uint64_t>(elements(type.shape));
    bytes += count * size_of(type.dtype);
    if (!is_listed(tensors, name)) width = std::max(width, printable(name).size());
    slots += is_slot(tensors, name);
    if (!is_parameter(tensors, name, type)) continue;
    parameters += count;
    ++parameter_tensors;
  }
  CheckpointFormat format = format_of_checkpoint(path);
  out << fmt::format("{}: {} checkpoint of {} tensors\n", path, kind_of(format), tensors.size());
  if (reader->uri() != path) out << fmt::format("file        {}\n", reader->uri());
  out << fmt::format("parameters  {} in {} tensors\n", with_commas(parameters), parameter_tensors);
  if (slots > 0) out << fmt::format("slots       {} tensors of an optimizer\n", slots);
  if (std::optional<std::string> counter = counter_of(tensors)) {
    out << fmt::format("step        {}\n", reader->read(*counter).as<int64_t>()[0]);
  }
  out << fmt::format("values      {} bytes\n", with_commas(bytes));
  for (const auto& [name, type] : tensors) {
    if (is_listed(tensors, name)) continue;
    out << fmt::format("  {:<{}}  {}{}\n", printable(name), width, to_string(type),
                       printable(slots_of(tensors, name)));
  }
  if (!options.verify) return;
  for (const auto& [name, type] : tensors) reader->read(name);
  out << fmt::format("verified    {}\n", checksums_of(format));
}

}  // namespace

const Inspector kInspectCheckpoint{"checkpoint", takes_checkpoint, describe_checkpoint};

}  // namespace bertrain
