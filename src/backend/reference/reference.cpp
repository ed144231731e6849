// The backend of plain loops: slow, in order, and easy to believe.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "backend/backend.h"
#include "backend/reference/evaluate.h"
#include "base/error.h"
#include "tensor/ops/op_table.h"
#include "tensor/ops/ops.h"

namespace bertrain {
namespace {

struct ReferenceArray : DeviceArray {
  ReferenceArray(std::vector<Array> v, Placement p) : values(std::move(v)), placement(p) {
    whole = values.front().type;
    if (placement == Placement::split) whole.shape[0] *= static_cast<int64_t>(values.size());
  }
  const ArrayType& type() const override { return whole; }
  std::vector<Array> values;  // by replica
  Placement placement;
  ArrayType whole;
  bool dead = false;  // an output took its memory
};

const ReferenceArray& alive(const DeviceArray& array) {
  const auto* own = dynamic_cast<const ReferenceArray*>(&array);
  check(own != nullptr, "an array of another backend");
  check(!own->dead, "this array was replaced by a program's output and is dead");
  return *own;
}

bool same_memory(const std::vector<Array>& a, const std::vector<Array>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Array& x, const Array& y) { return x.bytes == y.bytes; });
}

uint64_t bytes_of(const ArrayType& type) {
  return static_cast<uint64_t>(elements(type.shape)) * size_of(type.dtype);
}

class ReferenceProgram : public Program {
 public:
  ReferenceProgram(Graph graph, size_t replicas) : graph_(std::move(graph)), replicas_(replicas) {
    auto nodes = graph_.nodes();
    dies_.resize(nodes.size());
    std::vector<const Node*> last(nodes.size(), nullptr);  // the last reader of each node
    for (const Node* node : nodes) {
      last[static_cast<size_t>(node->id)] = node;
      for (Tensor t : node->inputs) {
        if (t) last[static_cast<size_t>(t.node()->id)] = node;
      }
    }
    for (const Output& o : graph_.outputs())
      last[static_cast<size_t>(o.value.node()->id)] = nullptr;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (last[i]) dies_[static_cast<size_t>(last[i]->id)].push_back(i);
    }
    count_facts();
  }

  DeviceArrays run(DeviceArrays inputs) override { return run(std::move(inputs), nullptr); }
  ProgramFacts facts() const override { return facts_; }

  Named<double> profile(DeviceArrays inputs) override {
    Named<double> seconds;
    run(std::move(inputs), &seconds);
    return seconds;
  }

 private:
  DeviceArrays run(DeviceArrays inputs, Named<double>* seconds) {
    for (const auto& [name, array] : inputs) {
      if (!graph_.find_input(name)) throw error("the program has no input '{}'", name);
    }
    std::vector<Values> values(graph_.nodes().size());
    for (const Node* node : graph_.nodes()) {
      size_t id = static_cast<size_t>(node->id);
      auto start = std::chrono::steady_clock::now();
      values[id] = value_of(*node, inputs, values);
      if (seconds) {
        std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
        (*seconds)[std::string(node->op->name)] += spent.count();
      }
      for (size_t dead : dies_[id]) values[dead].clear();
    }
    DeviceArrays results;
    for (const Output& o : graph_.outputs()) {
      size_t id = static_cast<size_t>(o.value.node()->id),
             at = static_cast<size_t>(o.value.output());
      std::vector<Array> parts;
      for (const std::vector<Array>& outputs : values[id]) parts.push_back(outputs[at]);
      results[o.name] = std::make_shared<ReferenceArray>(std::move(parts), o.placement);
      if (auto replaced = inputs.find(o.name); replaced != inputs.end()) {
        static_cast<ReferenceArray&>(*replaced->second).dead = true;
      }
    }
    return results;
  }

  using Values = std::vector<std::vector<Array>>;  // of one node: by replica, its outputs

  Values value_of(const Node& node, const DeviceArrays& inputs,
                  const std::vector<Values>& values) const {
    if (node.op == &kInput) return input_value(node, inputs);
    if (node.op == &kConstant) return Values(replicas_, {node.value});
    Values in(replicas_);
    for (size_t r = 0; r < replicas_; ++r) {
      for (Tensor t : node.inputs) {
        in[r].push_back(
            t ? values[static_cast<size_t>(t.node()->id)][r][static_cast<size_t>(t.output())]
              : Array());
      }
    }
    if (node.op == &kAllReduceSum) {
      std::vector<Array> addends;
      for (const std::vector<Array>& inputs_of_one : in) addends.push_back(inputs_of_one.front());
      return Values(replicas_, {sum_over_replicas(addends)});
    }
    Values out = {evaluate_node(node, in[0])};
    for (size_t r = 1; r < replicas_; ++r) {
      // What is equal everywhere is computed once.
      out.push_back(same_memory(in[r], in[0]) ? out[0] : evaluate_node(node, in[r]));
    }
    return out;
  }

  Values input_value(const Node& node, const DeviceArrays& inputs) const {
    auto found = inputs.find(node.name);
    if (found == inputs.end()) throw error("input '{}' of the program is missing", node.name);
    const ReferenceArray& array = alive(*found->second);
    if (array.values.front().type != node.outputs[0] || array.placement != node.placement) {
      throw error("input '{}' must be {}, but is {}{}", node.name, to_string(node.outputs[0]),
                  to_string(array.values.front().type),
                  array.placement == node.placement ? "" : ", put with another placement");
    }
    Values values;
    for (const Array& value : array.values) values.push_back({value});
    return values;
  }

  // Each value takes memory from its node to its last reader; those of reshape and barrier are their
  // inputs under another name.
  void count_facts() {
    struct Buffer {
      uint64_t bytes;
      size_t last;
    };
    std::vector<Buffer> buffers;
    std::vector<std::vector<size_t>> buffer_of(graph_.nodes().size()), ends(graph_.nodes().size());
    auto find = [&](Tensor t) {
      return buffer_of[static_cast<size_t>(t.node()->id)][static_cast<size_t>(t.output())];
    };
    for (const Node* node : graph_.nodes()) {
      size_t id = static_cast<size_t>(node->id);
      bool given = node->op == &kInput || node->op == &kConstant;
      bool renames = node->op == &kReshape || node->op == &kBarrier;
      for (size_t i = 0; i < node->outputs.size(); ++i) {
        if (!renames) buffers.push_back({given ? 0 : bytes_of(node->outputs[i]), id});
        buffer_of[id].push_back(renames ? find(node->inputs[i]) : buffers.size() - 1);
        buffers[buffer_of[id].back()].last = id;
      }
      for (Tensor t : node->inputs) {
        if (t) buffers[find(t)].last = id;
      }
      if (node->op == &kInput) facts_.arguments += bytes_of(node->outputs[0]);
      if (given || renames) continue;
      facts_.flops += operations_of(*node);
      for (const ArrayType& type : node->outputs)
        facts_.bytes += static_cast<double>(bytes_of(type));
    }
    for (const Output& o : graph_.outputs()) buffers[find(o.value)].last = graph_.nodes().size();
    for (const Buffer& b : buffers) {
      if (b.last < ends.size()) ends[b.last].push_back(b.bytes);
    }
    uint64_t live = 0;
    for (const Node* node : graph_.nodes()) {
      size_t id = static_cast<size_t>(node->id);
      if (node->op != &kReshape && node->op != &kBarrier) {
        for (size_t b : buffer_of[id]) live += buffers[b].bytes;
      }
      facts_.temporary = std::max(facts_.temporary, live);
      for (uint64_t bytes : ends[id]) live -= bytes;
    }
    facts_.peak = facts_.arguments + facts_.temporary;
  }

  Graph graph_;
  size_t replicas_;
  std::vector<std::vector<size_t>> dies_;  // by node: the nodes whose values nothing reads after it
  ProgramFacts facts_;
};

class ReferenceBackend : public Backend {
 public:
  ReferenceBackend(int replicas, bool short_rows) : replicas_(replicas), short_rows_(short_rows) {
    check(replicas >= 1, "a program runs on one replica at least");
  }
  int replicas() const override { return replicas_; }
  int64_t row_slots(int64_t max_sequence) const override { return short_rows_ ? max_sequence : 0; }
  bool takes(const Node&) const override { return false; }
  std::unique_ptr<Program> compile(const Graph& graph) override {
    return std::make_unique<ReferenceProgram>(expand(graph, [](const Node&) { return false; }),
                                              static_cast<size_t>(replicas_));
  }
  std::shared_ptr<DeviceArray> put(const Array& value, Placement placement) override {
    std::vector<Array> values = placement == Placement::split
                                    ? split_parts(value, replicas_)
                                    : std::vector<Array>(static_cast<size_t>(replicas_), value);
    return std::make_shared<ReferenceArray>(std::move(values), placement);
  }
  Array get(const DeviceArray& array) override {
    const std::vector<Array>& values = alive(array).values;
    if (alive(array).placement == Placement::split) return join_parts(values);
    for (const Array& value : values) {
      check(std::memcmp(value.bytes.get(), values[0].bytes.get(), value.byte_size()) == 0,
            "what is said to be replicated is equal on every replica");
    }
    return values[0];
  }

 private:
  int replicas_;
  bool short_rows_;
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend(int replicas, bool short_rows) {
  return std::make_unique<ReferenceBackend>(replicas, short_rows);
}

}  // namespace bertrain
