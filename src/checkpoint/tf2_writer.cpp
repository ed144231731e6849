// The tree of objects, numbered breadth first as TensorFlow does, and the tensors at its leaves.
#include "checkpoint/tf2_writer.h"

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/quote.h"
#include "checkpoint/renamed.h"
#include "checkpoint/tf_bundle.h"
#include "formats/object_graph.h"

namespace bertrain {
namespace {

// How a tensor of ours lies in the file: heads apart in the last axis or in the first of two, or
// transposed.
enum class Form : uint8_t { same, apart_last, apart_first, transposed };

struct Variable {
  std::string name, full_name;  // ours; the program's
  Form form = Form::same;
};

// Objects by number in order of making; the root is made last.
struct Objects {
  struct Node {
    std::vector<ObjectGraph::Child> children;
    std::optional<Variable> variable;
  };
  std::vector<Node> nodes;

  size_t add(std::vector<ObjectGraph::Child> children = {}) {
    nodes.push_back({std::move(children), std::nullopt});
    return nodes.size() - 1;
  }
  size_t variable(std::string name, std::string full_name, Form form = Form::same) {
    nodes.push_back({{}, Variable{std::move(name), std::move(full_name), form}});
    return nodes.size() - 1;
  }
  // A Keras dense layer, or one of the official models' own (`general`), which names each twice.
  size_t dense(const std::string& name, const std::string& full_name, bool general,
               Form kernel = Form::same, Form bias = Form::same) {
    size_t k = variable(name + "/kernel", full_name + "/kernel", kernel);
    size_t b = variable(name + "/bias", full_name + "/bias", bias);
    if (!general) return add({{"kernel", k}, {"bias", b}});
    return add({{"kernel", k}, {"_kernel", k}, {"bias", b}, {"_bias", b}});
  }
  size_t norm(const std::string& name, const std::string& full_name) {
    size_t axis = add();
    size_t gamma = variable(name + "/gamma", full_name + "/gamma");
    size_t beta = variable(name + "/beta", full_name + "/beta");
    return add({{"axis", axis}, {"gamma", gamma}, {"beta", beta}});
  }
};

// The children of a functional Keras model: every layer by its number, those with weights also by
// theirs, which comes first.
class Layers {
 public:
  explicit Layers(Objects& objects) : objects_(objects) {}
  Layers& plain(std::optional<size_t> node = {}) {
    children_.push_back({fmt::format("layer-{}", count_++), node ? *node : objects_.add()});
    return *this;
  }
  Layers& weighted(size_t node) {
    children_.push_back({fmt::format("layer_with_weights-{}", weighted_++), node});
    return plain(node);
  }
  std::vector<ObjectGraph::Child> children() const { return children_; }
  size_t add() const { return objects_.add(children_); }

 private:
  Objects& objects_;
  std::vector<ObjectGraph::Child> children_;
  int count_ = 0, weighted_ = 0;
};

struct Inputs {
  size_t words, mask, types;
};
Inputs make_inputs(Objects& o) { return {o.add(), o.add(), o.add()}; }

size_t transformer(Objects& o, int64_t layer) {
  std::string ours = fmt::format("bert/encoder/layer_{}/", layer);
  std::string theirs = fmt::format("transformer/layer_{}/", layer);
  const auto part = [&](const std::string& name) {
    return o.dense(ours + "attention/self/" + name, theirs + "self_attention/" + name, true,
                   Form::apart_last, Form::apart_last);
  };
  size_t attention = o.add({{"_query_dense", part("query")},
                            {"_key_dense", part("key")},
                            {"_value_dense", part("value")},
                            {"_masked_softmax", o.add({{"_mask_expansion_axes", o.add()}})},
                            {"_dropout", o.add()}});
  size_t output = o.dense(ours + "attention/output/dense", theirs + "self_attention_output", true,
                          Form::apart_first);
  return o.add(
      {{"_attention_layer", attention},
       {"_attention_output_dense", output},
       {"_attention_dropout", o.add()},
       {"_attention_layer_norm",
        o.norm(ours + "attention/output/LayerNorm", theirs + "self_attention_layer_norm")},
       {"_intermediate_dense", o.dense(ours + "intermediate/dense", theirs + "intermediate", true)},
       {"_intermediate_activation_layer", o.add()},
       {"_output_dense", o.dense(ours + "output/dense", theirs + "output", true)},
       {"_output_dropout", o.add()},
       {"_output_layer_norm", o.norm(ours + "output/LayerNorm", theirs + "output_layer_norm")}});
}

size_t encoder(Objects& o, const Inputs& inputs, int64_t layers) {
  const std::string start = "bert/embeddings/";
  size_t words = o.variable(start + "word_embeddings", "word_embeddings/embeddings");
  size_t positions = o.variable(start + "position_embeddings", "position_embedding/embeddings");
  size_t types = o.variable(start + "token_type_embeddings", "type_embeddings/embeddings");
  Layers all(o);
  all.plain(inputs.words).weighted(o.add({{"embeddings", words}})).plain(inputs.types);
  all.weighted(o.add({{"embeddings", positions}, {"_position_embeddings", positions}}));
  all.weighted(o.add({{"embeddings", types}})).plain();
  all.weighted(o.norm(start + "LayerNorm", "embeddings/layer_norm"));
  all.plain().plain(inputs.mask).plain();
  for (int64_t i = 0; i < layers; ++i) all.weighted(transformer(o, i));
  all.plain().weighted(o.dense("bert/pooler/dense", "pooler_transform", false));
  return all.add();
}

// One dense layer on the first token: a classifier, spans, the next sentence.
Layers output(Objects& o, const std::string& start) {
  size_t kernel =
      o.variable(start + "output_weights", "predictions/transform/logits/kernel", Form::transposed);
  size_t bias = o.variable(start + "output_bias", "predictions/transform/logits/bias");
  Layers head(o);
  head.plain().weighted(o.add({{"kernel", kernel}, {"bias", bias}}));
  return head;
}

size_t masked_lm(Objects& o) {
  const std::string start = "cls/predictions/";
  size_t bias = o.variable(start + "output_bias", start + "output_bias/bias");
  Layers head(o);
  head.plain().plain().plain();
  head.weighted(o.dense(start + "transform/dense", start + "transform/dense", false));
  head.weighted(o.norm(start + "transform/LayerNorm", start + "transform/LayerNorm")).plain();
  return head.weighted(o.add({{"bias", bias}, {"_bias", bias}})).plain().plain().add();
}

class Tf2Writer {
 public:
  Tf2Writer(std::string_view prefix, const CheckpointReader& from, int64_t heads)
      : prefix_(prefix), from_(from), heads_(heads) {}

  void write(const std::function<void()>& before_commit) {
    build();
    number();
    add_slots();
    if (!left_.empty()) {
      throw error("{}: a TensorFlow 2 checkpoint has no place for {}", prefix_,
                  some_of({left_.begin(), left_.end()}));
    }
    std::unique_ptr<CheckpointWriter> file = create_tf_bundle(prefix_);
    for (const Placed& tensor : tensors_) file->write(tensor.key, value_of(tensor));
    file->write_object_graph(message_of(graph_));
    file->settle();
    if (before_commit) before_commit();
    file->commit();
  }

 private:
  bool has(std::string_view name) const { return from_.tensors().contains(name); }

  int64_t layers() const {
    int64_t count = 0;
    while (has(fmt::format("bert/encoder/layer_{}/output/dense/kernel", count))) ++count;
    return count;
  }

  void build() {
    bool trains = has("bert/embeddings/word_embeddings/adam_m");
    for (const auto& [name, type] : from_.tensors()) left_.insert(name);
    Inputs inputs = make_inputs(objects_);
    std::vector<ObjectGraph::Child> root;
    size_t inner = encoder(objects_, inputs, layers());
    bool span = has("cls/squad/output_weights");
    if (has("cls/predictions/output_bias")) {
      // Programs of TensorFlow 2.10 have such models, in other objects: all of them must be there
      // for those to restore, and there is no file of theirs to hold them against.
      if (!has("cls/seq_relationship/output_weights")) {
        throw error(
            "{}: a TensorFlow 2 checkpoint of a masked LM needs "
            "cls/seq_relationship/output_weights (the next sentence), which is not there; "
            "--format=tf2-encoder writes the encoder alone, tf1 and hf the masked LM",
            prefix_);
      }
      Inputs outer = make_inputs(objects_);
      Layers pretrainer(objects_);
      pretrainer.plain(inputs.words).plain(inputs.mask).plain(inputs.types).weighted(inner).plain();
      pretrainer.weighted(masked_lm(objects_));
      pretrainer.weighted(output(objects_, "cls/seq_relationship/").plain().add());
      Layers model(objects_);
      model.plain(outer.words).plain(outer.mask).plain(outer.types).plain();
      model.weighted(pretrainer.add()).plain().plain().plain();
      model.plain(objects_.add({{"config", objects_.add()}}));
      root = model.children();
      optimizer_ = add_optimizer(trains);
      root.push_back({"optimizer", *optimizer_});
      root = {{"model", objects_.add(std::move(root))}};
    } else if (has("output_weights") || span) {
      Layers model(objects_);
      model.plain(inputs.words).plain(inputs.mask).plain(inputs.types).weighted(inner).plain();
      model.weighted(output(objects_, span ? "cls/squad/" : "").add());
      root = {{"model", model.add()}};
      if (trains || has("global_step")) optimizer_ = add_optimizer(trains);
    } else {
      root = {{"model", inner}};
    }
    if (optimizer_) root.push_back({"optimizer", *optimizer_});
    own_.emplace("save_counter", make_array<int64_t>({}, std::vector<int64_t>{1}));
    root.push_back({"save_counter", objects_.variable("save_counter", "save_counter")});
    root_ = objects_.add(std::move(root));
  }

  size_t add_optimizer(bool trains) {
    if (!has("global_step")) {
      own_.emplace("global_step", make_array<int64_t>({}, std::vector<int64_t>{0}));
    }
    std::vector<ObjectGraph::Child> children = {{"iter", objects_.variable("global_step", "iter")}};
    static constexpr std::pair<const char*, float> kNumbers[] = {
        {"beta_1", 0.9F}, {"beta_2", 0.999F}, {"decay", 0.0F}};
    for (const auto& [name, value] : kNumbers) {
      if (!trains) break;
      own_.emplace(name, make_array<float>({}, std::vector<float>{value}));
      children.push_back({name, objects_.variable(name, "AdamWeightDecay/" + std::string(name))});
    }
    return objects_.add(std::move(children));
  }

  // Numbers objects by their distance from the root, and gives each variable the key of its shortest
  // path.
  void number() {
    std::vector<std::optional<size_t>> numbers(objects_.nodes.size());
    std::vector<size_t> order = {root_};
    std::vector<std::string> paths = {""};
    numbers[root_] = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      for (const auto& child : objects_.nodes[order[i]].children) {
        if (numbers[child.node]) continue;
        numbers[child.node] = order.size();
        order.push_back(child.node);
        paths.push_back((i == 0 ? "" : paths[i] + "/") + escaped_name(child.name));
      }
    }
    for (size_t i = 0; i < order.size(); ++i) {
      const Objects::Node& from = objects_.nodes[order[i]];
      ObjectGraph::Node& node = graph_.nodes.emplace_back();
      for (const auto& child : from.children)
        node.children.push_back({child.name, *numbers[child.node]});
      if (!from.variable) continue;
      node.key = paths[i] + std::string(kVariableSuffix);
      node.full_name = from.variable->full_name;
      put(*node.key, from.variable->name, from.variable->form);
      variables_.push_back({i, paths[i], *from.variable});
    }
    if (optimizer_) optimizer_ = numbers[*optimizer_];
  }

  void add_slots() {
    if (!optimizer_) return;
    for (std::string slot : {"m", "v"}) {
      for (const auto& [node, path, variable] : variables_) {
        std::string name = variable.name + "/adam_" + slot;
        if (!has(name)) continue;
        ObjectGraph::Node& value = graph_.nodes.emplace_back();
        value.key = fmt::format("{}/.OPTIMIZER_SLOT/optimizer/{}{}", path, slot, kVariableSuffix);
        value.full_name = "AdamWeightDecay/" + variable.full_name + "/" + slot;
        put(*value.key, name, variable.form);
        graph_.nodes[*optimizer_].slots.push_back({node, graph_.nodes.size() - 1, slot});
      }
    }
  }

  // A tensor of the file: of ours, or made here.
  struct Placed {
    std::string key, name;
    Form form;
    Shape shape;
  };

  Array value_of(const Placed& tensor) const {
    auto own = own_.find(tensor.name);
    if (own != own_.end()) return own->second;
    Array value = from_.read(tensor.name);
    if (tensor.form == Form::transposed) return transposed(value);
    value.type.shape = tensor.shape;
    return value;
  }

  void put(const std::string& key, const std::string& name, Form form) {
    Placed tensor{key, name, form, {}};
    left_.erase(name);
    if (own_.contains(name)) {
      tensors_.push_back(std::move(tensor));
      return;
    }
    auto found = from_.tensors().find(name);
    if (found == from_.tensors().end()) {
      throw error("{}: a TensorFlow 2 checkpoint of this model needs {}, which is not there",
                  prefix_, name);
    }
    const ArrayType& type = found->second;
    Shape& shape = tensor.shape = type.shape;
    if (form == Form::transposed) {
      if (shape.size() != 2)
        throw error("{}: {} is {}; a matrix is expected", prefix_, name, to_string(type));
    } else if (form == Form::apart_last) {
      int64_t all = shape.empty() ? 0 : shape.back();
      require_heads(name, type, all);
      shape.back() = heads_;
      shape.push_back(all / heads_);
    } else if (form == Form::apart_first) {
      int64_t all = shape.empty() ? 0 : shape.front();
      require_heads(name, type, all);
      shape.front() = all / heads_;
      shape.insert(shape.begin(), heads_);
    }
    tensors_.push_back(std::move(tensor));
  }

  void require_heads(const std::string& name, const ArrayType& type, int64_t all) const {
    if (heads_ >= 1 && all >= 1 && all % heads_ == 0) return;
    throw error("{}: {} is {}, which {} attention heads cannot share", prefix_, name,
                to_string(type), heads_);
  }

  struct Numbered {
    size_t node;
    std::string path;
    Variable variable;
  };

  std::string prefix_;
  const CheckpointReader& from_;
  int64_t heads_;
  Named<Array> own_;             // counters and numbers of the optimizer
  std::vector<Placed> tensors_;  // in order of their objects
  std::set<std::string> left_;   // names that nothing took yet
  Objects objects_;
  size_t root_ = 0;
  std::optional<size_t> optimizer_;
  ObjectGraph graph_;
  std::vector<Numbered> variables_;
};

}  // namespace

void write_tf2_checkpoint(std::string_view prefix, const CheckpointReader& from, int64_t heads,
                          const std::function<void()>& before_commit) {
  Tf2Writer(prefix, from, heads).write(before_commit);
}

}  // namespace bertrain
