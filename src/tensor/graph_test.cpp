// Recording: types inferred or refused with place and shapes, donation by name, printing, moving.
#include "tensor/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/error_message.h"
#include "tensor/ops/ops.h"
#include "tensor/scope.h"

namespace bertrain {
namespace {

using testing::HasSubstr;

TEST(Graph, RefusesShapesNamingScopeOpAndTypes) {
  Graph g;
  Tensor a = g.input("a", {DType::f32, {2, 3}}), b = g.input("b", {DType::f32, {3, 2}});
  Scope::Guard guard(g, "bert/pooler");
  EXPECT_EQ(message_of([&] { add(a, b); }),
            "bert/pooler: add(f32 [2, 3], f32 [3, 2]): inputs 0 and 1 must have equal dtype and "
            "shape");
  EXPECT_THAT(message_of([&] { matmul(a, a); }), HasSubstr("3 columns of a against 2 rows of b"));
  EXPECT_THAT(message_of([&] { reshape(a, {4, 2}); }), HasSubstr("[4, 2]"));
  EXPECT_THAT(message_of([&] { slice(a, {0, 0}, {2, 4}); }), HasSubstr("no part"));
  EXPECT_THAT(message_of([&] { gather_rows(a, b); }), HasSubstr("ids must be i32, but is f32"));
  EXPECT_THAT(message_of([&] { bit_and(a, a); }), HasSubstr("must be u32"));
  EXPECT_EQ(g.nodes().size(), 2u) << "a refused node is not recorded";
}

TEST(Graph, InfersTypes) {
  Graph g;
  Tensor x = g.input("x", {DType::bf16, {2, 3, 5}});
  EXPECT_EQ(matmul(x, x, {true, false}).type(), (ArrayType{DType::f32, {2, 5, 5}}));
  EXPECT_EQ(matmul(x, x, {false, true, DType::bf16}).type(), (ArrayType{DType::bf16, {2, 3, 3}}));
  EXPECT_EQ(reduce_sum(x, {0, 2}).type(), (ArrayType{DType::f32, {3}}));
  EXPECT_EQ(reduce_max(x, {1}).type(), (ArrayType{DType::bf16, {2, 5}}));
  EXPECT_EQ(transpose(x, {2, 0, 1}).shape(), (Shape{5, 2, 3}));
  EXPECT_EQ(reshape(x, {-1, 10}).shape(), (Shape{3, 10}));
  EXPECT_EQ(broadcast(x, {4, 2, 3, 5}).shape(), (Shape{4, 2, 3, 5}));
  EXPECT_EQ(concatenate({x, x}, 1).shape(), (Shape{2, 6, 5}));
  EXPECT_EQ(pad(x, {0, 1, 0}, {0, 0, 2}).shape(), (Shape{2, 4, 7}));
  EXPECT_EQ(compare(x, x, Compare::less).dtype(), DType::boolean);
  Tensor ids = g.input("ids", {DType::i32, {7}});
  EXPECT_EQ(gather_rows(x, ids).type(), (ArrayType{DType::bf16, {7, 3, 5}}));
}

TEST(Graph, RefusesNamesTwiceAndReplacementsOfAnotherType) {
  Graph g;
  Tensor w = g.input("w", {DType::f32, {2}});
  EXPECT_THROW(g.input("w", {DType::f32, {2}}), Error);
  EXPECT_THAT(message_of([&] { g.output("w", convert(w, DType::bf16)); }), HasSubstr("f32 [2]"));
  g.output("w", w * 2);
  EXPECT_THROW(g.output("w", w), Error);
  Graph other;
  EXPECT_THROW(add(w, other.input("w", {DType::f32, {2}})), std::logic_error);
}

TEST(Graph, PrintsOneLineANode) {
  Graph g;
  Tensor x = g.input("x", {DType::f32, {2, 8}});
  {
    Scope::Guard guard(g, "bert");
    g.output("y", reduce_sum(x, {1}));
  }
  EXPECT_EQ(print(g),
            "%0 = input 'x' : f32 [2, 8]\n"
            "%1 = reduce_sum(%0) {axes=[1]} : f32 [2]  # bert\n"
            "output 'y' = %1\n");
}

TEST(Graph, KeepsItsTensorsWhenMoved) {
  Graph g;
  Tensor x = g.input("x", {DType::f32, {2}});
  Graph moved = std::move(g);
  EXPECT_EQ(&x.graph(), &moved);
  moved.output("y", x + x);
  EXPECT_EQ(moved.nodes().size(), 2u);
}

}  // namespace
}  // namespace bertrain
