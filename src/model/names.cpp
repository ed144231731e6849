// The table of names: whole names of the heads, and how parts of an encoder's name are written.
#include "model/names.h"

#include <algorithm>
#include <utility>

namespace bertrain {
namespace {

struct Pair {
  std::string_view ours, theirs;
};

// Heads and tables that follow no rule.
constexpr Pair kWhole[] = {
    {"bert/embeddings/word_embeddings", "bert.embeddings.word_embeddings.weight"},
    {"bert/embeddings/position_embeddings", "bert.embeddings.position_embeddings.weight"},
    {"bert/embeddings/token_type_embeddings", "bert.embeddings.token_type_embeddings.weight"},
    {"cls/predictions/output_bias", "cls.predictions.bias"},
    {"cls/seq_relationship/output_weights", "cls.seq_relationship.weight"},
    {"cls/seq_relationship/output_bias", "cls.seq_relationship.bias"},
    {"output_weights", "classifier.weight"},
    {"output_bias", "classifier.bias"},
    {"cls/squad/output_weights", "qa_outputs.weight"},
    {"cls/squad/output_bias", "qa_outputs.bias"},
};

// Where RoBERTa's heads have other names.
constexpr Pair kRoberta[] = {
    {"cls/predictions/output_bias", "lm_head.bias"},
    {"cls/predictions/transform/dense/kernel", "lm_head.dense.weight"},
    {"cls/predictions/transform/dense/bias", "lm_head.dense.bias"},
    {"cls/predictions/transform/LayerNorm/gamma", "lm_head.layer_norm.weight"},
    {"cls/predictions/transform/LayerNorm/beta", "lm_head.layer_norm.bias"},
    {"classifier/dense/kernel", "classifier.dense.weight"},
    {"classifier/dense/bias", "classifier.dense.bias"},
    {"output_weights", "classifier.out_proj.weight"},
    {"output_bias", "classifier.out_proj.bias"},
};
constexpr std::string_view kBertStart = "bert.", kRobertaStart = "roberta.";

// The last part of all other names. Of two lines that fit ours, the first is what is written.
constexpr Pair kLast[] = {{"LayerNorm/gamma", "LayerNorm.weight"},
                          {"LayerNorm/beta", "LayerNorm.bias"},
                          {"LayerNorm/gamma", "LayerNorm.gamma"},
                          {"LayerNorm/beta", "LayerNorm.beta"},
                          {"/kernel", ".weight"},
                          {"/bias", ".bias"}};

// What other names repeat, or what is computed and not learnt.
constexpr std::string_view kNoParameters[] = {
    "cls.predictions.decoder.weight", "cls.predictions.decoder.bias", "lm_head.decoder.weight",
    "lm_head.decoder.bias", "bert.embeddings.position_ids"};

constexpr std::string_view kOurLayer = "bert/encoder/layer_", kTheirLayer = "bert.encoder.layer.";

std::string replace_all(std::string text, char from, char to) {
  std::replace(text.begin(), text.end(), from, to);
  return text;
}

// Whether a name with a rule for its last part starts as an encoder's or a head's does.
bool in_model(std::string_view name, char dot) {
  for (std::string_view start :
       {"bert.embeddings.", "bert.encoder.layer", "bert.pooler.", "cls.predictions.transform."}) {
    std::string wanted = replace_all(std::string(start), '.', dot);
    if (name.starts_with(wanted)) return true;
  }
  return false;
}

// "bert.encoder.layer.0.attention…" ↔ "bert/encoder/layer_0/attention…".
std::string change_parts(std::string_view name, std::string_view layer, std::string_view new_layer,
                         char dot, char new_dot) {
  std::string start;
  if (name.starts_with(layer)) {
    start = new_layer;
    name.remove_prefix(layer.size());
  }
  return start + replace_all(std::string(name), dot, new_dot);
}

// Names as the task's model has them: without a wrapper's prefix, and with the encoder's own.
std::string unwrapped(std::string_view name) {
  while (name.starts_with("module.")) name.remove_prefix(7);
  if (name.starts_with(kRobertaStart)) {
    return std::string(kBertStart) + std::string(name.substr(kRobertaStart.size()));
  }
  for (std::string_view start : {"embeddings.", "encoder.layer.", "pooler."}) {
    if (name.starts_with(start)) return "bert." + std::string(name);
  }
  return std::string(name);
}

}  // namespace

std::string to_hugging_face(std::string_view name) {
  for (const Pair& p : kWhole) {
    if (p.ours == name) return std::string(p.theirs);
  }
  if (!in_model(name, '/')) return "";
  for (const Pair& p : kLast) {
    if (!name.ends_with(p.ours)) continue;
    std::string_view start = name.substr(0, name.size() - p.ours.size());
    return change_parts(start, kOurLayer, kTheirLayer, '/', '.') + std::string(p.theirs);
  }
  return "";
}

std::string to_hugging_face_roberta(std::string_view name) {
  for (const Pair& p : kRoberta) {
    if (p.ours == name) return std::string(p.theirs);
  }
  std::string theirs = to_hugging_face(name);
  // A head that only BERT has keeps BERT's name for it.
  if (!theirs.starts_with(kBertStart)) return theirs;
  return std::string(kRobertaStart) + theirs.substr(kBertStart.size());
}

std::function<std::string(std::string_view)> to_hugging_face_of(Family family, bool of_tokens) {
  if (family != Family::roberta) return to_hugging_face;
  if (!of_tokens) return to_hugging_face_roberta;
  return [](std::string_view name) {
    bool output = name == "output_weights" || name == "output_bias";
    return output ? to_hugging_face(name) : to_hugging_face_roberta(name);
  };
}

std::string from_hugging_face(std::string_view name) {
  if (name.find('/') != std::string_view::npos) return std::string(name);
  std::string inner = unwrapped(name);
  for (std::string_view n : kNoParameters) {
    if (inner == n) return "";
  }
  for (const Pair& p : kRoberta) {
    if (p.theirs == inner) return std::string(p.ours);
  }
  for (const Pair& p : kWhole) {
    if (p.theirs == inner) return std::string(p.ours);
  }
  if (!in_model(inner, '.')) return std::string(name);
  for (const Pair& p : kLast) {
    if (!inner.ends_with(p.theirs)) continue;
    std::string_view start = std::string_view(inner).substr(0, inner.size() - p.theirs.size());
    return change_parts(start, kTheirLayer, kOurLayer, '.', '/') + std::string(p.ours);
  }
  return std::string(name);
}

bool is_kernel(std::string_view name) { return name.ends_with("/kernel"); }

bool are_hugging_face(const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return name.ends_with("embeddings.word_embeddings.weight");
  });
}

}  // namespace bertrain
