// Rows of a table by their ids, and their way back.
#include "tensor/ops/op_table.h"
#include "tensor/ops/ops.h"
#include "tensor/ops/rules.h"

namespace bertrain {
namespace {

// ids [...] and the rest of the table's axes: the shape of the rows.
Shape rows_shape(const Node& n) {
  demand_rank(n, 0, 1, "the table");
  demand_dtype(n, 1, DType::i32, "ids");
  Shape shape = n.inputs[1].shape();
  const Shape& table = n.inputs[0].shape();
  shape.insert(shape.end(), table.begin() + 1, table.end());
  return shape;
}

std::vector<ArrayType> gather_infer(const Node& n) {
  demand_inputs(n, 2);
  return {{n.inputs[0].dtype(), rows_shape(n)}};
}

// The table's gradient is f32: many rows may meet in one.
Tensors gather_grad(const Node& n, const Tensors&, const Tensors& dy) {
  Tensor table = n.inputs[0];
  Tensor none = full(table.graph(), table.shape(), 0);
  return {scatter_add_rows(none, n.inputs[1], dy[0]), {}};
}

std::vector<ArrayType> scatter_infer(const Node& n) {
  demand_inputs(n, 3);
  demand_float(n, 0, "the table");
  demand_shape(n, 2, rows_shape(n), "rows");
  DType rows = n.inputs[2].dtype();
  if (rows != n.inputs[0].dtype() && !(n.inputs[0].dtype() == DType::f32 && is_float(rows))) {
    throw error("rows of {} cannot be added to {}", name_of(rows), name_of(n.inputs[0].dtype()));
  }
  return {n.inputs[0].type()};
}

Tensors scatter_grad(const Node& n, const Tensors&, const Tensors& dy) {
  return {dy[0], {}, convert(gather_rows(dy[0], n.inputs[1]), n.inputs[2].dtype())};
}

}  // namespace

extern const Op kGatherRows{"gather_rows", gather_infer, nullptr, gather_grad};
extern const Op kScatterAddRows{"scatter_add_rows", scatter_infer, nullptr, scatter_grad};

Tensor gather_rows(Tensor table, Tensor ids) {
  return table.graph().apply(kGatherRows, {table, ids})[0];
}
Tensor scatter_add_rows(Tensor into, Tensor ids, Tensor rows) {
  return into.graph().apply(kScatterAddRows, {into, ids, rows})[0];
}

}  // namespace bertrain
