// Finds the loop of a primitive, and rounds bf16 around it.
#include "backend/reference/evaluate.h"

#include <unordered_map>

#include "backend/reference/primitives.h"
#include "base/error.h"
#include "tensor/ops/op_table.h"

namespace bertrain {
namespace {

struct Loop {
  Array (*run)(const Node&, Arrays);
  bool computes;  // floats are widened to f32 before, and rounded to the node's dtype after
};

const std::unordered_map<const Op*, Loop>& loops() {
  static const std::unordered_map<const Op*, Loop> table = {
      {&kConvert, {evaluate_convert, false}},
      {&kAdd, {evaluate_binary, true}},
      {&kSubtract, {evaluate_binary, true}},
      {&kMultiply, {evaluate_binary, true}},
      {&kDivide, {evaluate_binary, true}},
      {&kMaximum, {evaluate_binary, true}},
      {&kBitAnd, {evaluate_binary, true}},
      {&kBitOr, {evaluate_binary, true}},
      {&kBitXor, {evaluate_binary, true}},
      {&kShiftLeft, {evaluate_binary, true}},
      {&kShiftRight, {evaluate_binary, true}},
      {&kNegate, {evaluate_unary, true}},
      {&kExp, {evaluate_unary, true}},
      {&kLog, {evaluate_unary, true}},
      {&kSqrt, {evaluate_unary, true}},
      {&kRsqrt, {evaluate_unary, true}},
      {&kTanh, {evaluate_unary, true}},
      {&kCompare, {evaluate_compare, true}},
      {&kSelect, {evaluate_select, false}},
      {&kReshape, {evaluate_reshape, false}},
      {&kTranspose, {evaluate_transpose, false}},
      {&kBroadcast, {evaluate_broadcast, false}},
      {&kConcatenate, {evaluate_concatenate, false}},
      {&kSlice, {evaluate_slice, false}},
      {&kPad, {evaluate_pad, false}},
      {&kIota, {evaluate_iota, true}},
      {&kReduceSum, {evaluate_reduce_sum, true}},
      {&kReduceMax, {evaluate_reduce_max, true}},
      {&kMatmul, {evaluate_matmul, true}},
      {&kGatherRows, {evaluate_gather_rows, false}},
      {&kScatterAddRows, {evaluate_scatter_add_rows, true}},
  };
  return table;
}

Array widened(const Array& x) {
  if (x.type.dtype != DType::bf16) return x;
  return filled<float>(DType::f32, x.type.shape, [&](float* y) {
    for (uint16_t bits : x.as<uint16_t>()) *y++ = bf16_to_f32(bits);
  });
}

Array rounded(const Array& x, DType dtype) {
  if (dtype != DType::bf16 || x.type.dtype == dtype) return x;
  return filled<uint16_t>(dtype, x.type.shape, [&](uint16_t* y) {
    for (float value : x.as<float>()) *y++ = f32_to_bf16(value);
  });
}

std::vector<Array> evaluate(const Node& node, Arrays inputs) {
  // One value has nothing to be added to, and nodes run in order anyway.
  if (node.op == &kAllReduceSum || node.op == &kBarrier) return {inputs.begin(), inputs.end()};
  auto found = loops().find(node.op);
  if (found == loops().end()) throw error("it is no primitive");
  if (!found->second.computes) return {found->second.run(node, inputs)};
  for (const Array& x : inputs) {
    if (x.type.dtype == DType::f16) throw error("f16 is not computed with; convert it to f32");
  }
  std::vector<Array> wide;
  for (const Array& x : inputs) wide.push_back(widened(x));
  return {rounded(found->second.run(node, wide), node.outputs[0].dtype)};
}

}  // namespace

Array sum_over_replicas(std::span<const Array> values) {
  if (values.size() == 1) return values.front();
  const ArrayType& type = values.front().type;
  std::vector<double> sums(static_cast<size_t>(values.front().size()));
  for (const Array& value : values) {
    Array wide = widened(value);
    std::span<const float> numbers = wide.as<float>();
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += double{numbers[i]};
  }
  Array sum = filled<float>(DType::f32, type.shape, [&](float* y) {
    for (double value : sums) *y++ = static_cast<float>(value);
  });
  return rounded(sum, type.dtype);
}

std::vector<Array> evaluate_node(const Node& node, std::span<const Array> inputs) {
  try {
    std::vector<Array> results = evaluate(node, inputs);
    for (size_t i = 0; i < results.size(); ++i) {
      check(results[i].type == node.outputs[i],
            fmt::format("{} made {}, not {}", node.op->name, to_string(results[i].type),
                        to_string(node.outputs[i])));
    }
    return results;
  } catch (const Error& e) {
    throw e.within(
        fmt::format("{}{}{}", node.scope, node.scope.empty() ? "" : ": ", node.op->name));
  }
}

}  // namespace bertrain
