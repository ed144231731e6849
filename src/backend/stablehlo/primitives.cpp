// The table of primitives [StableHLO specification, "Ops"].
#include "backend/stablehlo/primitives.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "tensor/ops/op_table.h"
#include "tensor/ops/ops.h"
#include "tensor/ops/rules.h"

namespace bertrain {
namespace {

using Emit = ValueList (*)(const Emission&, const Node&, const ValueList&);

ArrayType result_of(const Emission& e, const Node& node) { return e.lifted(node.outputs[0]); }

// Axes of the node, moved behind the leading one. `with_lead` puts that one first.
std::vector<int64_t> moved(const Emission& e, std::vector<int64_t> axes, bool with_lead) {
  if (e.lead == 0) return axes;
  for (int64_t& axis : axes) ++axis;
  if (with_lead) axes.insert(axes.begin(), 0);
  return axes;
}

Value convert_to(const Emission& e, const Value& x, DType dtype) {
  if (x.type.dtype == dtype) return x;
  ArrayType type{dtype, x.type.shape};
  return e.text.value(
      type, fmt::format("stablehlo.convert {} : {}", x.name, signature_text({&x, 1}, type)));
}

// "stablehlo.add %a, %b : tensor<…>": operands and result of one type.
ValueList same_type(const Emission& e, const Node& node, const ValueList& in, const char* op) {
  ArrayType type = result_of(e, node);
  return {
      e.text.value(type, fmt::format("stablehlo.{} {} : {}", op, names_text(in), type_text(type)))};
}

// "stablehlo.reshape %x : (…) -> …"
ValueList to_type(const Emission& e, const Node& node, const ValueList& in, std::string_view op,
                  std::string_view attributes) {
  ArrayType type = result_of(e, node);
  return {e.text.value(
      type, fmt::format("stablehlo.{} {}{}{} : {}", op, names_text(in),
                        attributes.empty() ? "" : ", ", attributes, signature_text(in, type)))};
}

ValueList emit_convert(const Emission& e, const Node& node, const ValueList& in) {
  return to_type(e, node, in, "convert", "");
}

ValueList emit_compare(const Emission& e, const Node& node, const ValueList& in) {
  static constexpr const char* kDirections[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
  DType dtype = in[0].type.dtype;
  const char* kind = is_float(dtype)                              ? "FLOAT"
                     : dtype == DType::i32 || dtype == DType::i64 ? "SIGNED"
                                                                  : "UNSIGNED";
  ArrayType type = result_of(e, node);
  return {e.text.value(
      type, fmt::format("stablehlo.compare {}, {}, {} : {}", kDirections[node.integer("direction")],
                        names_text(in), kind, signature_text(in, type)))};
}

ValueList emit_select(const Emission& e, const Node& node, const ValueList& in) {
  ArrayType type = result_of(e, node);
  return {e.text.value(type, fmt::format("stablehlo.select {} : {}, {}", names_text(in),
                                         type_text(in[0].type), type_text(type)))};
}

ValueList emit_reshape(const Emission& e, const Node& node, const ValueList& in) {
  return to_type(e, node, in, "reshape", "");
}

ValueList emit_transpose(const Emission& e, const Node& node, const ValueList& in) {
  std::vector<int64_t> axes = moved(e, node.list("axes"), true);
  return to_type(e, node, in, "transpose", fmt::format("dims = [{}]", list_text(axes)));
}

ValueList emit_broadcast(const Emission& e, const Node& node, const ValueList& in) {
  std::vector<int64_t> axes = moved(e, node.list("axes"), true);
  return to_type(e, node, in, "broadcast_in_dim", fmt::format("dims = [{}]", list_text(axes)));
}

ValueList emit_concatenate(const Emission& e, const Node& node, const ValueList& in) {
  return to_type(e, node, in, "concatenate",
                 fmt::format("dim = {}", node.integer("axis") + (e.lead > 0 ? 1 : 0)));
}

ValueList emit_slice(const Emission& e, const Node& node, const ValueList& in) {
  std::string ranges = e.lead > 0 ? fmt::format("0:{}", e.lead) : "";
  for (size_t i = 0; i < node.list("start").size(); ++i) {
    ranges += fmt::format("{}{}:{}", ranges.empty() ? "" : ", ", node.list("start")[i],
                          node.list("limit")[i]);
  }
  ArrayType type = result_of(e, node);
  return {e.text.value(type, fmt::format("stablehlo.slice {} [{}] : {}", in[0].name, ranges,
                                         signature_text(in, type)))};
}

ValueList emit_pad(const Emission& e, const Node& node, const ValueList& in) {
  std::vector<int64_t> low = node.list("low"), high = node.list("high");
  if (e.lead > 0) {
    low.insert(low.begin(), 0);
    high.insert(high.begin(), 0);
  }
  ValueList operands = {in[0], e.text.scalar(in[0].type.dtype, 0)};
  std::vector<int64_t> none(low.size(), 0);
  return to_type(e, node, operands, "pad",
                 fmt::format("low = [{}], high = [{}], interior = [{}]", list_text(low),
                             list_text(high), list_text(none)));
}

ValueList emit_iota(const Emission& e, const Node& node, const ValueList&) {
  ArrayType type = result_of(e, node);
  return {e.text.value(
      type, fmt::format("stablehlo.iota dim = {} : {}", node.integer("axis") + (e.lead > 0 ? 1 : 0),
                        type_text(type)))};
}

Value reduce(const Emission& e, const Value& x, const ArrayType& type,
             const std::vector<int64_t>& axes, const char* op, double start) {
  ValueList operands = {x, e.text.scalar(x.type.dtype, start)};
  return e.text.value(
      type, fmt::format("stablehlo.reduce({} init: {}) applies stablehlo.{} across dimensions = "
                        "[{}] : {}",
                        operands[0].name, operands[1].name, op, list_text(axes),
                        signature_text(operands, type)));
}

ValueList emit_reduce_sum(const Emission& e, const Node& node, const ValueList& in) {
  ArrayType type = result_of(e, node);
  std::vector<int64_t> axes = moved(e, node.list("axes"), false);
  return {reduce(e, convert_to(e, in[0], type.dtype), type, axes, "add", 0)};
}

ValueList emit_reduce_max(const Emission& e, const Node& node, const ValueList& in) {
  DType dtype = in[0].type.dtype;
  double least = 0;
  if (is_float(dtype)) least = -std::numeric_limits<double>::infinity();
  if (dtype == DType::i32) least = std::numeric_limits<int32_t>::min();
  if (dtype == DType::i64) least = static_cast<double>(std::numeric_limits<int64_t>::min());
  return {
      reduce(e, in[0], result_of(e, node), moved(e, node.list("axes"), false), "maximum", least)};
}

// Full single precision on devices that would multiply in less.
ValueList emit_matmul(const Emission& e, const Node& node, const ValueList& in) {
  check(e.lead == 0, "a matmul is not lifted");
  int64_t rank = static_cast<int64_t>(in[0].type.shape.size());
  std::string batch;
  for (int64_t i = 0; i < rank - 2; ++i) batch += (i > 0 ? ", " : "") + std::to_string(i);
  if (!batch.empty()) batch = fmt::format("batching_dims = [{0}] x [{0}], ", batch);
  int64_t a = node.integer("transpose_a") != 0 ? rank - 2 : rank - 1;
  int64_t b = node.integer("transpose_b") != 0 ? rank - 1 : rank - 2;
  const char* precision = in[0].type.dtype == DType::f32 ? "HIGHEST" : "DEFAULT";
  return to_type(e, node, in, "dot_general",
                 fmt::format("{}contracting_dims = [{}] x [{}], precision = [{}, {}]", batch, a, b,
                             precision, precision));
}

std::string range_text(int64_t first, int64_t last) {
  std::string text;
  for (int64_t i = first; i < last; ++i) text += (text.empty() ? "" : ", ") + std::to_string(i);
  return text;
}

// An id outside the table takes the nearest row, as nothing on a device can fail for a value.
ValueList emit_gather_rows(const Emission& e, const Node& node, const ValueList& in) {
  check(e.lead == 0, "a gather is not lifted");
  const Shape& table = in[0].type.shape;
  auto ids = static_cast<int64_t>(in[1].type.shape.size());
  Shape sizes = table;
  sizes[0] = 1;
  ArrayType type = result_of(e, node);
  return {e.text.value(
      type,
      fmt::format("\"stablehlo.gather\"({}) <{{dimension_numbers = #stablehlo.gather<"
                  "offset_dims = [{}], collapsed_slice_dims = [0], start_index_map = [0], "
                  "index_vector_dim = {}>, slice_sizes = array<i64: {}>, indices_are_sorted "
                  "= false}}> : {}",
                  names_text(in), range_text(ids, ids + static_cast<int64_t>(table.size()) - 1),
                  ids, list_text(sizes), signature_text(in, type)))};
}

// "({ ^bb0(%a, %b): add })": what reductions over rows and replicas do with two values.
std::string adding_region(const Emission& e, const std::string& element) {
  std::string a = e.text.fresh(), b = e.text.fresh(), sum = e.text.fresh();
  return fmt::format(
      "({{\n    ^bb0({0}: {3}, {1}: {3}):\n      {2} = stablehlo.add {0}, {1} : {3}\n      "
      "stablehlo.return {2} : {3}\n    }})",
      a, b, sum, element);
}

ValueList emit_scatter_add_rows(const Emission& e, const Node& node, const ValueList& in) {
  check(e.lead == 0, "a scatter is not lifted");
  // Summed in f32 and rounded once.
  ValueList operands = {convert_to(e, in[0], DType::f32), in[1], convert_to(e, in[2], DType::f32)};
  ArrayType wide{DType::f32, in[0].type.shape};
  auto ids = static_cast<int64_t>(in[1].type.shape.size());
  Value sum = e.text.value(
      wide,
      fmt::format("\"stablehlo.scatter\"({}) <{{scatter_dimension_numbers = #stablehlo.scatter<"
                  "update_window_dims = [{}], inserted_window_dims = [0], "
                  "scatter_dims_to_operand_dims = [0], index_vector_dim = {}>, indices_are_sorted "
                  "= false, unique_indices = false}}> {} : {}",
                  names_text(operands),
                  range_text(ids, ids + static_cast<int64_t>(wide.shape.size()) - 1), ids,
                  adding_region(e, "tensor<f32>"), signature_text(operands, wide)));
  return {convert_to(e, sum, node.outputs[0].dtype)};
}

ValueList emit_all_reduce_sum(const Emission& e, const Node& node, const ValueList& in) {
  if (e.replicas == 1) return in;
  ArrayType type = result_of(e, node);
  return {e.text.value(
      type, fmt::format("\"stablehlo.all_reduce\"({}) <{{replica_groups = dense<[[{}]]> : "
                        "tensor<1x{}xi64>}}> {} : {}",
                        names_text(in), range_text(0, e.replicas), e.replicas,
                        adding_region(e, type_text({type.dtype, {}})), signature_text(in, type)))};
}

ValueList emit_barrier(const Emission& e, const Node& node, const ValueList& in) {
  std::vector<ArrayType> types;
  for (const ArrayType& type : node.outputs) types.push_back(e.lifted(type));
  return e.text.values(
      types, fmt::format("stablehlo.optimization_barrier {} : {}", names_text(in), types_text(in)));
}

struct Row {
  Emit emit = nullptr;
  const char* same = nullptr;  // of ops whose operands and result have one type
  bool lifts = true;
};

const std::map<const Op*, Row>& table() {
  static const std::map<const Op*, Row> kRows = {
      {&kAdd, {nullptr, "add"}},
      {&kSubtract, {nullptr, "subtract"}},
      {&kMultiply, {nullptr, "multiply"}},
      {&kDivide, {nullptr, "divide"}},
      {&kMaximum, {nullptr, "maximum"}},
      {&kNegate, {nullptr, "negate"}},
      {&kExp, {nullptr, "exponential"}},
      {&kLog, {nullptr, "log"}},
      {&kSqrt, {nullptr, "sqrt"}},
      {&kRsqrt, {nullptr, "rsqrt"}},
      {&kTanh, {nullptr, "tanh"}},
      {&kBitAnd, {nullptr, "and"}},
      {&kBitOr, {nullptr, "or"}},
      {&kBitXor, {nullptr, "xor"}},
      {&kShiftLeft, {nullptr, "shift_left"}},
      {&kShiftRight, {nullptr, "shift_right_logical"}},
      {&kConvert, {emit_convert}},
      {&kCompare, {emit_compare}},
      {&kSelect, {emit_select}},
      {&kReshape, {emit_reshape}},
      {&kTranspose, {emit_transpose}},
      {&kBroadcast, {emit_broadcast}},
      {&kConcatenate, {emit_concatenate}},
      {&kSlice, {emit_slice}},
      {&kPad, {emit_pad}},
      {&kIota, {emit_iota}},
      {&kReduceSum, {emit_reduce_sum}},
      {&kReduceMax, {emit_reduce_max}},
      {&kMatmul, {emit_matmul, nullptr, false}},
      {&kGatherRows, {emit_gather_rows, nullptr, false}},
      {&kScatterAddRows, {emit_scatter_add_rows, nullptr, false}},
      {&kAllReduceSum, {emit_all_reduce_sum}},
      {&kBarrier, {emit_barrier}},
  };
  return kRows;
}

}  // namespace

ArrayType Emission::lifted(const ArrayType& type) const {
  ArrayType result = type;
  if (lead > 0) result.shape.insert(result.shape.begin(), lead);
  return result;
}

ValueList emit_node(const Emission& e, const Node& node, const ValueList& in) {
  auto row = table().find(node.op);
  check(row != table().end(), fmt::format("{} has no line of StableHLO", node.op->name));
  if (row->second.same != nullptr) return same_type(e, node, in, row->second.same);
  return row->second.emit(e, node, in);
}

bool can_be_lifted(const Op& op) {
  auto row = table().find(&op);
  return row != table().end() && row->second.lifts;
}

}  // namespace bertrain
