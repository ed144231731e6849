// The encoder on one page; names are those of the TF 1 checkpoint. The slots of all examples lie in
// one [R, S, H].
#include "model/bert.h"

#include "model/layers.h"

namespace bertrain {
namespace {

// Dropout of the hidden vector in each slot; none in evaluation.
Dropout slot_dropout(const Scope& s, const Slots& slots, double rate) {
  if (!s.training() || rate <= 0) return {};
  return {s.dropout_key(), slots.number, slots.position, rate};
}

// Rows of the position table: those of most models are the positions themselves.
Tensor counted_from(int64_t first, Tensor position) {
  return first == 0 ? position : position + static_cast<double>(first);
}

// word + type + position, normalized: added up in f32, which spares the word table a conversion.
Tensor embeddings(const Scope& s, const BertConfig& c, const Slots& slots) {
  auto guard = s.enter();
  Init init{Init::truncated_normal, c.initializer_range};
  auto table = [&](std::string_view name, int64_t rows) {
    return master_param(s, name, {rows, c.hidden_size}, init);
  };
  Tensor words = gather_rows(table("word_embeddings", c.vocab_size), slots.input_ids);  // [R, S, H]
  s.recording().mark(std::string(kWordRows), words);
  Tensor types = gather_rows(table("token_type_embeddings", c.type_vocab_size), slots.segment_ids);
  Tensor places = gather_rows(table("position_embeddings", c.max_position_embeddings),
                              counted_from(c.first_position, slots.position));
  NormParameters norm = norm_parameters(s / "LayerNorm", c.hidden_size);
  Tensor x = layer_norm(words + types + places, norm.gamma, norm.beta, c.layer_norm_eps).y;
  DType compute = s.recording().options().compute;
  if (compute != x.dtype()) x = convert(x, compute);
  Dropout drop = slot_dropout(s, slots, c.hidden_dropout_prob);
  return drop.on() ? dropout(x, drop) : x;
}

// LayerNorm(x + dropout(f))
Tensor add_and_norm(const Scope& s, const BertConfig& c, Tensor x, Tensor f, const Slots& slots) {
  auto guard = s.enter();
  NormParameters norm = norm_parameters(s / "LayerNorm", c.hidden_size);
  Dropout drop = slot_dropout(s, slots, c.hidden_dropout_prob);
  return bertrain::add_and_norm(x, f, norm.gamma, norm.beta, drop, c.layer_norm_eps).y;
}

// Every slot attends to the keys of its own example.  x [R, S, H]
Tensor self_attention(const Scope& s, const BertConfig& c, Tensor x, const Slots& slots) {
  Scope self = s / "self";
  auto guard = self.enter();
  Tensor q = dense(self / "query", x, c.hidden_size, c.initializer_range);  // head h: columns h·D …
  Tensor k = dense(self / "key", x, c.hidden_size, c.initializer_range);
  Tensor v = dense(self / "value", x, c.hidden_size, c.initializer_range);
  Dropout drop = slot_dropout(self, slots, c.attention_probs_dropout_prob);
  return attention(q, k, v, c.num_attention_heads, slots.example, slots.is_key, drop).y;
}

Tensor layer(const Scope& s, const BertConfig& c, Tensor x, const Slots& slots) {
  Scope attention = s / "attention";
  Tensor a = self_attention(attention, c, x, slots);
  a = dense(attention / "output" / "dense", a, c.hidden_size, c.initializer_range);
  x = add_and_norm(attention / "output", c, x, a, slots);
  Tensor f = dense(s / "intermediate" / "dense", x, c.intermediate_size, c.initializer_range);
  f = activate(f, c.hidden_act);  // [R, S, F]
  f = dense(s / "output" / "dense", f, c.hidden_size, c.initializer_range);
  return add_and_norm(s / "output", c, x, f, slots);
}

}  // namespace

std::string layer_output_name(int64_t layer) { return "encoder_layer_" + std::to_string(layer); }

Tensor bert(const Scope& root, const BertConfig& c, const Slots& slots) {
  Scope s = root / "bert";
  Tensor x = embeddings(s / "embeddings", c, slots);
  int64_t number = 0;
  return repeat(
      s / "encoder", static_cast<int>(c.num_hidden_layers), x,
      [&](const Scope& l, Tensor h) {
        Tensor y = layer(l, c, h, slots);
        // In training a backward pass may record layers again.
        Recording& r = l.recording();
        if (!r.options().training) r.mark(layer_output_name(number++), y);
        return y;
      },
      c.recompute);
}

}  // namespace bertrain
