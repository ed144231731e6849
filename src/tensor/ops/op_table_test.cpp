// The op table as a whole: names, and composites that end in primitives.
#include "tensor/ops/op_table.h"

#include <gtest/gtest.h>

#include "tensor/ops/ops.h"

namespace bertrain {
namespace {

TEST(OpTable, HasEachNameOnce) {
  for (const Op* op : op_table()) {
    EXPECT_EQ(find_op(op->name), op) << op->name;
    EXPECT_NE(op->infer, nullptr) << op->name;
  }
  EXPECT_EQ(find_op("no such op"), nullptr);
}

// A training step in small: every composite that a model records, and their gradients.
TEST(OpTable, CompositesEndInPrimitives) {
  for (DType dtype : {DType::f32, DType::bf16}) {
    Graph g;
    Tensor x = g.input("x", {dtype, {1, 5, 6}}), w = g.input("w", {dtype, {6, 6}});
    Tensor gamma = g.input("gamma", {DType::f32, {6}}), key = g.input("key", {DType::u32, {2}});
    Tensor number = g.input("number", {DType::u32, {1, 5}});
    Tensor position = g.input("position", {DType::i32, {1, 5}});
    Tensor label = g.input("label", {DType::i32, {5}}), one = full(g, {}, 1);
    Dropout drop{key, number, position, 0.1};

    Tensor h = gelu(linear(x, w, {})), e = gelu_erf(linear(h, w, gamma, true));
    Tensor a = attention(h, e, relu(h), 2, position, position, drop).y;
    Tensor y = add_and_norm(x, a, gamma, gamma, drop, 1e-12).y;
    y = softmax(layer_norm(y, gamma, gamma, 1e-3).y);
    Tensor loss = reduce_sum(softmax_cross_entropy(reshape(y, {5, 6}), label).loss, {0});
    Tensors grads = gradients(loss, {w, gamma});
    EXPECT_EQ(grads[0].type(), (ArrayType{DType::f32, {6, 6}})) << "weights' gradients are f32";
    Tensor master = convert(w, DType::f32);
    Updated u = adamw(master, grads[0], master, master, one, one, one, sqrt(sum_of_squares(grads)),
                      0.9, 0.999);
    g.output("w'", u.param);
    g.output("loss", loss);
    Graph simple = expand(g, [](const Node&) { return false; });
    for (const Node* node : simple.nodes()) EXPECT_EQ(node->op->expand, nullptr) << node->op->name;
    EXPECT_GT(simple.nodes().size(), 300u);
  }
}

}  // namespace
}  // namespace bertrain
