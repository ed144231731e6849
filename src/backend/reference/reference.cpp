// The backend of plain loops: slow, in order, and easy to believe.
#include <algorithm>
#include <chrono>

#include "backend/backend.h"
#include "backend/reference/evaluate.h"
#include "base/error.h"
#include "tensor/ops/op_table.h"

namespace bertrain {
namespace {

struct ReferenceArray : DeviceArray {
  explicit ReferenceArray(Array v) : value(std::move(v)) {}
  const ArrayType& type() const override { return value.type; }
  Array value;
  bool dead = false;  // an output took its memory
};

const ReferenceArray& alive(const DeviceArray& array) {
  const auto* own = dynamic_cast<const ReferenceArray*>(&array);
  check(own != nullptr, "an array of another backend");
  check(!own->dead, "this array was replaced by a program's output and is dead");
  return *own;
}

uint64_t bytes_of(const ArrayType& type) {
  return static_cast<uint64_t>(elements(type.shape)) * size_of(type.dtype);
}

double flops_of(const Node& node) {
  if (node.op != &kMatmul) return static_cast<double>(elements(node.outputs[0].shape));
  bool ta = node.integer("transpose_a") != 0;
  return 2.0 * static_cast<double>(elements(node.outputs[0].shape)) *
         static_cast<double>(node.inputs[0].extent(ta ? -2 : -1));
}

class ReferenceProgram : public Program {
 public:
  explicit ReferenceProgram(Graph graph) : graph_(std::move(graph)) {
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
    std::vector<std::vector<Array>> values(graph_.nodes().size());
    for (const Node* node : graph_.nodes()) {
      size_t id = static_cast<size_t>(node->id);
      auto start = std::chrono::steady_clock::now();
      if (node->op == &kInput) {
        values[id] = {input_value(*node, inputs)};
      } else if (node->op == &kConstant) {
        values[id] = {node->value};
      } else {
        std::vector<Array> in;
        for (Tensor t : node->inputs) {
          in.push_back(
              t ? values[static_cast<size_t>(t.node()->id)][static_cast<size_t>(t.output())]
                : Array());
        }
        values[id] = evaluate_node(*node, in);
      }
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
      results[o.name] = std::make_shared<ReferenceArray>(values[id][at]);
      if (auto replaced = inputs.find(o.name); replaced != inputs.end()) {
        static_cast<ReferenceArray&>(*replaced->second).dead = true;
      }
    }
    return results;
  }

  static Array input_value(const Node& node, const DeviceArrays& inputs) {
    auto found = inputs.find(node.name);
    if (found == inputs.end()) throw error("input '{}' of the program is missing", node.name);
    const Array& value = alive(*found->second).value;
    if (value.type != node.outputs[0]) {
      throw error("input '{}' must be {}, but is {}", node.name, to_string(node.outputs[0]),
                  to_string(value.type));
    }
    return value;
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
      facts_.flops += flops_of(*node);
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
  std::vector<std::vector<size_t>> dies_;  // by node: the nodes whose values nothing reads after it
  ProgramFacts facts_;
};

class ReferenceBackend : public Backend {
 public:
  int replicas() const override { return 1; }
  int64_t row_slots(int64_t) const override { return 0; }
  bool takes(const Node&) const override { return false; }
  std::unique_ptr<Program> compile(const Graph& graph) override {
    return std::make_unique<ReferenceProgram>(expand(graph, [](const Node&) { return false; }));
  }
  std::shared_ptr<DeviceArray> put(const Array& value, Placement) override {
    return std::make_shared<ReferenceArray>(value);
  }
  Array get(const DeviceArray& value) override { return alive(value).value; }
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend() { return std::make_unique<ReferenceBackend>(); }

}  // namespace bertrain
