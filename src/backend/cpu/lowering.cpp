// Finding the kernel for a node, the cold path, and counting.
#include "backend/cpu/lowering.h"

#include <cstring>
#include <map>

#include "backend/cpu/fuse.h"
#include "backend/reference/evaluate.h"
#include "tensor/ops/op_table.h"

namespace bertrain {
namespace {

std::map<const Op*, const Lowering*> gather_lowerings() {
  std::map<const Op*, const Lowering*> table;
  for (std::span<const Lowering> list :
       {matmul_lowerings(), elementwise_lowerings(), move_lowerings(), norm_lowerings(),
        attention_lowerings(), loss_lowerings(), update_lowerings()}) {
    for (const Lowering& lowering : list) table[lowering.op] = &lowering;
  }
  return table;
}

Array copy_of(const ArrayType& type, const std::byte* from) {
  return make_array(type, [&](std::span<std::byte> into) {
    if (!into.empty()) std::memcpy(into.data(), from, into.size());
  });
}

}  // namespace

const Lowering* find_lowering(const Node& node) {
  static const std::map<const Op*, const Lowering*> table = gather_lowerings();
  auto found = table.find(node.op);
  if (found == table.end()) return nullptr;
  const Lowering* lowering = found->second;
  return !lowering->takes || lowering->takes(node) ? lowering : nullptr;
}

Call prepare_cold(const Binding& b) {
  return [b](const Addresses& at) {
    std::vector<Array> inputs;
    for (size_t i = 0; i < b.inputs.size(); ++i) {
      inputs.push_back(b.has(i) ? copy_of(b.in(i), at.get<std::byte>(b.inputs[i])) : Array());
    }
    std::vector<Array> outputs = evaluate_node(b.node, inputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      std::span<const std::byte> bytes = outputs[i].raw();
      if (!bytes.empty()) std::memcpy(at.get<std::byte>(b.outputs[i]), bytes.data(), bytes.size());
    }
  };
}

double flops_of(const Node& node) {
  double outputs = static_cast<double>(elements(node.outputs[0].shape));
  if (node.op != &kProduct) return outputs;
  bool transposed = node.integer("transpose_a") != 0;
  return 2 * outputs * static_cast<double>(node.inputs[0].extent(transposed ? -2 : -1));
}

}  // namespace bertrain
