// Sorting names, and a reader that trims.
#include "cli/conversion.h"

#include <algorithm>
#include <bit>
#include <ostream>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/quote.h"
#include "model/bert.h"
#include "optim/slot_names.h"
#include "task/catalog/catalog.h"
#include "train/record.h"

namespace bertrain {
namespace {

// Parameters of the encoder and of the heads of pre-training by name, as the model's shape makes them.
Named<ArrayType> types_of(const BertConfig& config) {
  TaskOptions options;
  options.config = config;
  options.pretraining.max_seq_length = options.pretraining.max_predictions_per_seq = 1;
  Named<ArrayType> types;
  for (const Parameter& p : parameters_of(*make_task("pretraining", options))) {
    types.emplace(p.name, ArrayType{DType::f32, p.shape});
  }
  return types;
}

// Exponents of ones alone are NaN and infinities.
bool all_finite(std::span<const float> values) {
  uint32_t found = 0;
  for (float value : values) {
    found |= static_cast<uint32_t>((std::bit_cast<uint32_t>(value) & 0x7f800000U) == 0x7f800000U);
  }
  return found == 0;
}

// The parts of heads, each of which is nothing without the others.
const std::vector<std::vector<std::string>>& heads() {
  static const std::vector<std::vector<std::string>> kHeads = {
      {"cls/predictions/transform/dense/kernel", "cls/predictions/transform/dense/bias",
       "cls/predictions/transform/LayerNorm/gamma", "cls/predictions/transform/LayerNorm/beta",
       "cls/predictions/output_bias"},
      {"cls/seq_relationship/output_weights", "cls/seq_relationship/output_bias"},
      {"cls/squad/output_weights", "cls/squad/output_bias"},
      {"classifier/dense/kernel", "classifier/dense/bias"},
      {"output_weights", "output_bias"}};
  return kHeads;
}

class ConversionReader : public CheckpointReader {
 public:
  ConversionReader(std::unique_ptr<CheckpointReader> from, Named<ArrayType> types)
      : from_(std::move(from)), types_(std::move(types)) {}

  const Named<ArrayType>& tensors() const override { return types_; }
  const std::string& uri() const override { return from_->uri(); }
  Array read(std::string_view name) const override {
    auto type = types_.find(name);
    if (type == types_.end()) throw error("{}: no tensor '{}'", uri(), name);
    Array array = from_->read(name);
    if (array.type.dtype == DType::f32 && !all_finite(array.as<float>())) {
      throw error("{}: tensor '{}' holds NaN or an infinity; the file is damaged", uri(), name);
    }
    array.type = type->second;  // of a table that is trimmed the first rows
    return array;
  }

 private:
  std::unique_ptr<CheckpointReader> from_;
  Named<ArrayType> types_;
};

bool is_used(const Named<ArrayType>& tensors, std::string_view name, const ConversionWants& wants) {
  if (is_encoder(name)) return true;
  if (is_head(name)) return wants.heads;
  if (!wants.training) return false;
  std::string_view owner = slot_owner(name);
  bool kept = is_encoder(owner) || (is_head(owner) && wants.heads);
  bool adam = name.ends_with("/adam_m") || name.ends_with("/adam_v");  // others no target has
  return name == "global_step" || (kept && adam && tensors.contains(owner));
}

// A classifier that no model of this width can have; "": there is none, or it fits.
std::string odd_classifier(const Named<ArrayType>& tensors, int64_t hidden) {
  auto weights = tensors.find("output_weights"), bias = tensors.find("output_bias");
  if (weights == tensors.end()) return "";
  const Shape& w = weights->second.shape;
  if (w.size() != 2 || w[1] != hidden) {
    return fmt::format("output_weights: {} in the file, [C, {}] by the model's shape", to_string(w),
                       hidden);
  }
  if (bias == tensors.end() || bias->second.shape == Shape{w[0]}) return "";
  return fmt::format("output_bias: {} in the file, [{}] by output_weights",
                     to_string(bias->second.shape), w[0]);
}

// Of heads that no task of pre-training has, and whose size is the model's.
Named<Shape> head_shapes(const BertConfig& config) {
  int64_t h = config.hidden_size;
  return {{"cls/squad/output_weights", {2, h}},
          {"cls/squad/output_bias", {2}},
          {"classifier/dense/kernel", {h, h}},
          {"classifier/dense/bias", {h}}};
}

// Slots that are not like their parameter, and heads that no model of this shape can have.
void add_odd_shapes(const Named<ArrayType>& used, const BertConfig& config,
                    std::vector<std::string>& different) {
  for (const auto& [name, type] : used) {
    auto owner = used.find(slot_owner(name));
    if (owner == used.end() || owner->second == type) continue;
    different.push_back(fmt::format("{}: {} in the file, {} by its parameter", name,
                                    to_string(type), to_string(owner->second)));
  }
  for (const auto& [name, wanted] : head_shapes(config)) {
    auto found = used.find(name);
    if (found == used.end() || found->second.shape == wanted) continue;
    different.push_back(fmt::format("{}: {} in the file, {} by the model's shape", name,
                                    to_string(found->second.shape), to_string(wanted)));
  }
  if (std::string odd = odd_classifier(used, config.hidden_size); !odd.empty()) {
    different.push_back(odd);
  }
}

// The other parts of heads of which one is there.
std::vector<std::string> missing_of_heads(const Named<ArrayType>& used) {
  std::vector<std::string> missing;
  for (const std::vector<std::string>& head : heads()) {
    std::vector<std::string> absent;
    for (const std::string& name : head) {
      if (!used.contains(name)) absent.push_back(name);
    }
    if (absent.size() == head.size()) continue;
    missing.insert(missing.end(), absent.begin(), absent.end());
  }
  return missing;
}

void trim(ArrayType& type, std::string_view name, int64_t rows) {
  std::string_view owner = slot_owner(name).empty() ? name : slot_owner(name);
  bool by_piece = owner == kWordTable || owner == kOutputBias;
  if (by_piece && !type.shape.empty()) type.shape[0] = std::min(type.shape[0], rows);
}

}  // namespace

bool is_encoder(std::string_view name) {
  return name.starts_with("bert/") && slot_owner(name).empty();
}

bool is_head(std::string_view name) {
  bool named = name.starts_with("cls/") || name.starts_with("classifier/dense/") ||
               name == "output_weights" || name == "output_bias";
  return named && slot_owner(name).empty();
}

void print_names(std::string_view what, const std::vector<std::string>& names, std::ostream& out) {
  out << what << " = " << names.size() << "\n";
  for (const std::string& name : names) out << "  " << name << "\n";
}

std::unique_ptr<CheckpointReader> conversion_of(std::unique_ptr<CheckpointReader> from,
                                                const BertConfig& config,
                                                const ConversionWants& wants, bool trim_vocab,
                                                ConversionNames& names) {
  Named<ArrayType> known = types_of(config), wanted, used;
  for (const auto& [name, type] : known) {
    if (is_encoder(name)) wanted.emplace(name, type);
  }
  std::vector<std::string> different;
  for (const auto& [name, type] : from->tensors()) {
    bool counter = name == "global_step";
    if (counter && wants.training && type != ArrayType{DType::i64, {}}) {
      different.push_back(
          fmt::format("global_step: {} in the file, i64 [] expected", to_string(type)));
    }
    auto parameter = known.find(name);
    bool unknown = is_encoder(name) && parameter == known.end();
    if (unknown || !is_used(from->tensors(), name, wants) ||
        (!counter && type.dtype != DType::f32)) {
      names.unused.push_back(name);
      continue;
    }
    ArrayType seen = type;
    if (trim_vocab) trim(seen, name, config.vocab_size);
    if (parameter != known.end() && seen != parameter->second) {
      different.push_back(fmt::format("{}: {} in the file, {} by the model's shape", name,
                                      to_string(type), to_string(parameter->second)));
    }
    used.emplace(name, seen);
    names.used.push_back(name);
  }
  for (const std::string& name : from->left_out()) names.unused.push_back(name);
  add_odd_shapes(used, config, different);
  std::vector<std::string> lost;
  for (const auto& [name, type] : wanted) {
    if (used.contains(name)) continue;
    bool pooler = name.starts_with("bert/pooler/");
    if (pooler && config.family == Family::roberta) continue;  // its classifiers have none
    names.missing.push_back(name);
    if (!pooler) lost.push_back(name);
  }
  std::vector<std::string> halves = missing_of_heads(used);
  names.missing.insert(names.missing.end(), halves.begin(), halves.end());
  std::string problems;
  if (!halves.empty()) {
    problems += "\nof a head that is there these are missing:\n  " + some_of(halves, "\n  ");
  }
  if (!lost.empty()) {
    problems += fmt::format("\n{} of {} weights of the encoder are missing:\n  ", lost.size(),
                            wanted.size()) +
                some_of(lost, "\n  ");
  }
  if (!different.empty()) problems += "\nof another shape:\n  " + some_of(different, "\n  ");
  // Layers that the shape has no place for: half of a model is no model.
  std::vector<std::string> layers;
  for (const std::string& name : names.unused) {
    if (is_encoder(name)) layers.push_back(name);
  }
  if (!layers.empty()) {
    problems += "\nthe model's shape has no place for:\n  " + some_of(layers, "\n  ");
  }
  if (!problems.empty()) throw error("{} is no model of this shape:{}", from->uri(), problems);
  return std::make_unique<ConversionReader>(std::move(from), std::move(used));
}

}  // namespace bertrain
