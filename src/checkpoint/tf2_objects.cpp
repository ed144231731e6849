// The walk from objects to names, and the reader that turns shapes.
#include "checkpoint/tf2_objects.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "checkpoint/renamed.h"
#include "formats/object_graph.h"

namespace bertrain {
namespace {

// What a variable is under our name: heads are apart in [H, N, D] and [N, D], and a head's kernel is
// [H, C] where ours is [C, H].
enum class Turn : uint8_t { none, join_last, join_first, transpose };

struct Named2 {
  std::string name;
  Turn turn = Turn::none;
};

using Path = std::initializer_list<std::string_view>;

class ObjectNames {
 public:
  explicit ObjectNames(const ObjectGraph& graph) : graph_(graph), names_(graph.nodes.size()) {
    note_order();
    std::optional<size_t> encoder = find_encoder();
    if (encoder) name_encoder(*encoder);
    bool has_masked_lm = name_masked_lm();
    name_output(has_masked_lm);
    name_optimizer();
  }

  // [node]: what its variable is; none: nothing of ours.
  const std::vector<std::optional<Named2>>& names() const { return names_; }

 private:
  // Objects in order of their distance from the root, so that of two that fit the outer is met first.
  void note_order() {
    std::vector<bool> seen(graph_.nodes.size(), false);
    std::deque<size_t> open;
    if (!graph_.nodes.empty()) open.push_back(0), seen[0] = true;
    while (!open.empty()) {
      size_t node = open.front();
      open.pop_front();
      order_.push_back(node);
      for (const auto& child : graph_.nodes[node].children) {
        if (!seen[child.node]) open.push_back(child.node);
        seen[child.node] = true;
      }
    }
  }

  bool has(size_t node, Path path) const { return graph_.find(node, path).has_value(); }

  // The variable at the path gets the name; false: there is none.
  bool name(size_t node, Path path, const std::string& name, Turn turn = Turn::none) {
    std::optional<size_t> variable = graph_.find(node, path);
    if (!variable || !graph_.nodes[*variable].key) return false;
    if (!names_[*variable]) names_[*variable] = {name, turn};
    return true;
  }

  std::optional<size_t> find_encoder() const {
    for (size_t node : order_) {
      if (has(node, {"layer_with_weights-0", "embeddings"}) &&
          has(node, {"layer_with_weights-4", "_attention_layer"})) {
        return node;
      }
    }
    return std::nullopt;
  }

  void name_norm(size_t node, std::string_view child, const std::string& start) {
    name(node, {child, "gamma"}, start + "/LayerNorm/gamma");
    name(node, {child, "beta"}, start + "/LayerNorm/beta");
  }

  void name_dense(size_t node, std::string_view child, const std::string& start) {
    name(node, {child, "kernel"}, start + "/kernel");
    name(node, {child, "bias"}, start + "/bias");
  }

  void name_layer(size_t layer, const std::string& start) {
    for (std::string part : {"query", "key", "value"}) {
      std::string child = "_" + part + "_dense", to = start + "/attention/self/" + part;
      name(layer, {"_attention_layer", child, "kernel"}, to + "/kernel", Turn::join_last);
      name(layer, {"_attention_layer", child, "bias"}, to + "/bias", Turn::join_last);
    }
    std::string output = start + "/attention/output";
    for (Path path : {Path{"_attention_output_dense"}, Path{"_attention_layer", "_output_dense"}}) {
      std::optional<size_t> dense = graph_.find(layer, path);
      if (!dense) continue;
      name(*dense, {"kernel"}, output + "/dense/kernel", Turn::join_first);
      name(*dense, {"bias"}, output + "/dense/bias");
    }
    name_norm(layer, "_attention_layer_norm", output);
    name_dense(layer, "_intermediate_dense", start + "/intermediate/dense");
    name_dense(layer, "_output_dense", start + "/output/dense");
    name_norm(layer, "_output_layer_norm", start + "/output");
  }

  void name_encoder(size_t encoder) {
    const std::string start = "bert/embeddings";
    name(encoder, {"layer_with_weights-0", "embeddings"}, start + "/word_embeddings");
    name(encoder, {"layer_with_weights-1", "embeddings"}, start + "/position_embeddings");
    name(encoder, {"layer_with_weights-2", "embeddings"}, start + "/token_type_embeddings");
    name_norm(encoder, "layer_with_weights-3", start);
    size_t layers = 0;
    const auto child = [&] {
      return graph_.nodes[encoder].child(fmt::format("layer_with_weights-{}", 4 + layers));
    };
    for (; child() && has(*child(), {"_attention_layer"}); ++layers) {
      name_layer(*child(), fmt::format("bert/encoder/layer_{}", layers));
    }
    if (child()) {
      name(*child(), {"kernel"}, "bert/pooler/dense/kernel");
      name(*child(), {"bias"}, "bert/pooler/dense/bias");
    }
    // Later files keep the pooler at the head that has the next sentence.
    name_dense(0, "next_sentence.pooler_dense", "bert/pooler/dense");
  }

  bool name_masked_lm() {
    const std::string start = "cls/predictions";
    for (size_t node : order_) {
      bool by_names =
          has(node, {"dense"}) && has(node, {"layer_norm"}) && has(node, {"output_bias/bias"});
      bool by_numbers = has(node, {"layer_with_weights-0", "kernel"}) &&
                        has(node, {"layer_with_weights-1", "gamma"}) &&
                        has(node, {"layer_with_weights-2", "bias"}) &&
                        !has(node, {"layer_with_weights-3"});
      if (!by_names && !by_numbers) continue;
      name_dense(node, by_names ? "dense" : "layer_with_weights-0", start + "/transform/dense");
      name_norm(node, by_names ? "layer_norm" : "layer_with_weights-1", start + "/transform");
      by_names ? name(node, {"output_bias/bias"}, start + "/output_bias")
               : name(node, {"layer_with_weights-2", "bias"}, start + "/output_bias");
      return true;
    }
    return false;
  }

  // An object that holds one dense layer and nothing else with weights.
  void name_output(bool beside_masked_lm) {
    const std::string start = beside_masked_lm ? "cls/seq_relationship/" : "";
    for (size_t node : order_) {
      for (std::string_view child : {"layer_with_weights-0", "out_proj"}) {
        std::optional<size_t> dense = graph_.find(node, {child});
        if (!dense || has(node, {"layer_with_weights-1"})) continue;
        std::optional<size_t> kernel = graph_.find(*dense, {"kernel"});
        if (!kernel || !has(*dense, {"bias"}) || names_[*kernel]) continue;
        name(*dense, {"kernel"}, start + "output_weights", Turn::transpose);
        name(*dense, {"bias"}, start + "output_bias");
        return;
      }
    }
  }

  void name_optimizer() {
    for (const ObjectGraph::Node& node : graph_.nodes) {
      for (const ObjectGraph::Slot& slot : node.slots) {
        const std::optional<Named2>& variable = names_[slot.variable];
        if (!variable || !graph_.nodes[slot.value].key) continue;
        names_[slot.value] = {variable->name + "/adam_" + slot.name, variable->turn};
      }
    }
    name(0, {"optimizer", "iter"}, "global_step");
    name(0, {"optimizer", "base_optimizer", "iter"}, "global_step");
    for (std::string_view child : {"beta_1", "beta_2", "decay", "learning_rate"}) {
      name(0, {"optimizer", child}, "");
    }
    name(0, {"save_counter"}, "");
  }

  const ObjectGraph& graph_;
  std::vector<size_t> order_;
  std::vector<std::optional<Named2>> names_;
};

// Of the file's type; nullopt: the turn is not for such a shape.
std::optional<Shape> turned(const Shape& shape, Turn turn) {
  size_t n = shape.size();
  switch (turn) {
    case Turn::none:
      return shape;
    case Turn::join_last:
      if (n == 2) return Shape{shape[0] * shape[1]};
      if (n == 3) return Shape{shape[0], shape[1] * shape[2]};
      return std::nullopt;
    case Turn::join_first:
      if (n != 3) return std::nullopt;
      return Shape{shape[0] * shape[1], shape[2]};
    case Turn::transpose:
      if (n != 2) return std::nullopt;
      return Shape{shape[1], shape[0]};
  }
  return std::nullopt;
}

ObjectGraph graph_of(const CheckpointReader& from) {
  std::optional<std::string> message = from.object_graph();
  check(message.has_value(), "a checkpoint without objects is not named by them");
  try {
    return parse_object_graph(*message);
  } catch (const Error& e) {
    throw e.within(fmt::format("{}: {}", from.uri(), kObjectGraphKey));
  }
}

class ObjectsReader : public CheckpointReader {
 public:
  explicit ObjectsReader(std::unique_ptr<CheckpointReader> from)
      : from_(std::move(from)), graph_(graph_of(*from_)) {
    Named<bool> taken;  // keys
    ObjectNames names(graph_);
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const std::optional<std::string>& key = graph_.nodes[i].key;
      if (!key || !names.names()[i]) continue;
      taken[*key] = true;
      add(*names.names()[i], *key);
    }
    for (const auto& [key, type] : from_->tensors()) {
      if (!taken.contains(key)) add({key, Turn::none}, key);
    }
    std::sort(left_out_.begin(), left_out_.end());
  }

  const Named<ArrayType>& tensors() const override { return types_; }
  const std::string& uri() const override { return from_->uri(); }
  std::vector<std::string> left_out() const override { return left_out_; }

  Array read(std::string_view name) const override {
    auto source = sources_.find(name);
    if (source == sources_.end()) throw error("{}: no tensor '{}'", uri(), name);
    Array array = from_->read(source->second.key);
    if (source->second.turn == Turn::transpose) return transposed(array);
    array.type.shape = types_.find(name)->second.shape;
    return array;
  }

 private:
  struct Source {
    std::string key;
    Turn turn;
  };

  void add(const Named2& named, const std::string& key) {
    if (named.name.empty()) {
      left_out_.push_back(key);
      return;
    }
    auto type = from_->tensors().find(key);
    if (type == from_->tensors().end()) {
      throw error("{}: damaged: its graph of objects has values of {} at '{}', which is not there",
                  uri(), named.name, key);
    }
    std::optional<Shape> shape = turned(type->second.shape, named.turn);
    if (!shape) {
      throw error("{}: tensor '{}' is {}, which is no shape of {}", uri(), key,
                  to_string(type->second), named.name);
    }
    auto [place, is_new] = sources_.emplace(named.name, Source{key, named.turn});
    if (!is_new) {
      throw error("{}: tensors '{}' and '{}' both mean {}", uri(), place->second.key, key,
                  named.name);
    }
    types_[named.name] = {type->second.dtype, *shape};
  }

  std::unique_ptr<CheckpointReader> from_;
  ObjectGraph graph_;
  Named<ArrayType> types_;
  Named<Source> sources_;
  std::vector<std::string> left_out_;
};

}  // namespace

std::unique_ptr<CheckpointReader> name_objects(std::unique_ptr<CheckpointReader> from) {
  return std::make_unique<ObjectsReader>(std::move(from));
}

std::optional<int64_t> attention_heads(const CheckpointReader& from) {
  ObjectGraph graph = graph_of(from);
  ObjectNames names(graph);
  std::optional<int64_t> heads;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const std::optional<Named2>& named = names.names()[i];
    if (!named || !named->name.ends_with("/attention/self/query/kernel")) continue;
    auto kernel = from.tensors().find(*graph.nodes[i].key);
    if (kernel == from.tensors().end() || kernel->second.shape.size() != 3) continue;
    int64_t here = kernel->second.shape[1];
    if (heads.value_or(here) != here) {
      throw error("{}: {} has {} heads, a layer before it {}", from.uri(), named->name, here,
                  *heads);
    }
    heads = here;
  }
  return heads;
}

}  // namespace bertrain
