// Pooler and heads, with the parameter names of the TF 1 checkpoints.
#include "model/heads.h"

#include "model/bert.h"
#include "model/layers.h"

namespace bertrain {

constexpr double kStddev = 0.02;  // fixed in the reference code, whatever initializer_range is

Tensor take_slots(Tensor hidden, Tensor slot) {
  return gather_rows(reshape(hidden, {-1, hidden.extent(-1)}), slot);
}

Tensor pooled_output(const Scope& root, const BertConfig& c, Tensor hidden, Tensor first_slot) {
  Scope s = root / "bert" / "pooler";
  auto guard = s.enter();
  Tensor first = take_slots(hidden, first_slot);  // [E, H]
  return tanh(dense(s / "dense", first, c.hidden_size, c.initializer_range));
}

Tensor masked_lm_logits(const Scope& root, const BertConfig& c, Tensor hidden, Tensor target_slot) {
  Scope s = root / "cls" / "predictions";
  auto guard = s.enter();
  Tensor h = take_slots(hidden, target_slot);  // [M, H]
  h = activate(dense(s / "transform" / "dense", h, c.hidden_size, c.initializer_range),
               c.hidden_act);
  NormParameters norm = norm_parameters(s / "transform" / "LayerNorm", c.hidden_size);
  h = layer_norm(h, norm.gamma, norm.beta, c.layer_norm_eps).y;
  Tensor table = (root / "bert" / "embeddings")
                     .param("word_embeddings", {c.vocab_size, c.hidden_size},
                            {Init::truncated_normal, c.initializer_range});
  return logits(s, h, table, "output_bias");  // [M, V]
}

Tensor next_sentence_logits(const Scope& root, const BertConfig& c, Tensor pooled) {
  Scope s = root / "cls" / "seq_relationship";
  auto guard = s.enter();
  Tensor weights =
      s.param("output_weights", {2, c.hidden_size}, {Init::truncated_normal, c.initializer_range});
  return logits(s, pooled, weights, "output_bias");
}

namespace {

// An example has one vector: position 0 of its own key.
Tensor drop_out(const Scope& root, const ClassifierHead& head, Tensor vector,
                Tensor example_number) {
  if (!root.training() || head.dropout <= 0) return vector;
  Tensor position = full(root.graph(), example_number.shape(), 0, DType::i32);
  Tensor key = (root / "classifier").dropout_key();
  return dropout(vector, {key, example_number, position, head.dropout});
}

}  // namespace

Tensor classifier_input(const Scope& root, const BertConfig& c, const ClassifierHead& head,
                        Tensor hidden, Tensor first_slot, Tensor example_number) {
  if (c.family == Family::bert) return pooled_output(root, c, hidden, first_slot);
  Scope s = root / "classifier";
  auto guard = s.enter();
  Tensor first = drop_out(root, head, take_slots(hidden, first_slot), example_number);  // [E, H]
  return tanh(dense(s / "dense", first, c.hidden_size, c.initializer_range));
}

Tensor classifier_logits(const Scope& root, const ClassifierHead& head, Tensor pooled,
                         Tensor example_number) {
  auto guard = root.enter();
  pooled = drop_out(root, head, pooled, example_number);
  Tensor weights = root.param("output_weights", {head.classes, pooled.extent(-1)},
                              {Init::truncated_normal, kStddev});
  return logits(root, pooled, weights, "output_bias");
}

Tensor span_logits(const Scope& root, Tensor hidden) {
  Scope s = root / "cls" / "squad";
  auto guard = s.enter();
  int64_t width = hidden.extent(-1);
  Tensor weights = s.param("output_weights", {2, width}, {Init::truncated_normal, kStddev});
  return logits(s, reshape(hidden, {-1, width}), weights, "output_bias");
}

Tensor token_logits(const Scope& root, const BertConfig& c, const ClassifierHead& head,
                    Tensor hidden, Tensor number, Tensor position, Tensor target_slot) {
  auto guard = root.enter();
  if (root.training() && head.dropout > 0) {
    Tensor key = (root / "classifier").dropout_key();
    hidden = dropout(hidden, {key, number, position, head.dropout});
  }
  Tensor weights = root.param("output_weights", {head.classes, c.hidden_size},
                              {Init::truncated_normal, c.initializer_range});
  return logits(root, take_slots(hidden, target_slot), weights, "output_bias");
}

}  // namespace bertrain
