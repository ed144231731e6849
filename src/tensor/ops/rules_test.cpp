// Rules of composites: wrong inputs are refused with a sentence that names them.
#include "tensor/ops/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error_message.h"
#include "tensor/ops/ops.h"

namespace bertrain {
namespace {

using testing::HasSubstr;

class Rules : public testing::Test {
 protected:
  Tensor f32(Shape shape) {
    return g_.input(std::to_string(next_++), {DType::f32, std::move(shape)});
  }
  Tensor i32(Shape shape) {
    return g_.input(std::to_string(next_++), {DType::i32, std::move(shape)});
  }
  Tensor u32(Shape shape) {
    return g_.input(std::to_string(next_++), {DType::u32, std::move(shape)});
  }

  Graph g_;
  int next_ = 0;
};

TEST_F(Rules, OfLinear) {
  Tensor x = f32({2, 3}), w = f32({3, 5});
  EXPECT_THAT(message_of([&] { linear(x, w, {}, true); }), HasSubstr("x has 3 columns, w takes 5"));
  EXPECT_THAT(message_of([&] { linear(x, w, f32({3})); }), HasSubstr("the bias must be [5]"));
  EXPECT_THAT(message_of([&] { linear(x, convert(w, DType::bf16), {}); }),
              HasSubstr("w must be f32"));
  EXPECT_EQ(linear(x, w, f32({5})).shape(), (Shape{2, 5}));
}

TEST_F(Rules, OfNorms) {
  Tensor x = f32({2, 3}), gamma = f32({3});
  EXPECT_THAT(message_of([&] { layer_norm(x, f32({2}), gamma, 1e-3); }),
              HasSubstr("gamma must be [3]"));
  EXPECT_THAT(message_of([&] {
                layer_norm(f32({2, 0}), gamma, gamma, 1e-3);
              }),
              HasSubstr("nothing"));
  EXPECT_THAT(message_of([&] {
                add_and_norm(x, f32({3, 2}), gamma, gamma, {}, 1e-3);
              }),
              HasSubstr("inputs 0 and 1"));
  EXPECT_EQ(layer_norm(convert(x, DType::bf16), gamma, gamma, 1e-3).mean.type(),
            (ArrayType{DType::f32, {2}}));
}

TEST_F(Rules, OfDropout) {
  Tensor x = f32({2, 3}), key = u32({2}), number = u32({2}), position = i32({2});
  EXPECT_THAT(message_of([&] { dropout(x, {key, number, position, 1.0}); }), HasSubstr("[0, 1)"));
  EXPECT_THAT(message_of([&] { dropout(x, {key, u32({3}), position, 0.1}); }), HasSubstr("number"));
  EXPECT_THAT(message_of([&] { dropout(x, {key, number, number, 0.1}); }), HasSubstr("position"));
  EXPECT_EQ(dropout(x, {key, number, position, 0.0}), x) << "none is recorded";
  EXPECT_EQ(dropout(x, {}), x);
}

TEST_F(Rules, OfAttention) {
  Tensor q = f32({1, 4, 6}), slots = i32({1, 4});
  EXPECT_THAT(message_of([&] { attention(q, q, q, 4, slots, slots, {}); }),
              HasSubstr("6 columns in 4 heads"));
  EXPECT_THAT(message_of([&] {
                attention(q, q, q, 2, i32({1, 5}), slots, {});
              }),
              HasSubstr("example"));
  Tensor flat = f32({4, 6});
  EXPECT_THAT(message_of([&] { attention(flat, flat, flat, 2, slots, slots, {}); }),
              HasSubstr("[R, S, H]"));
  EXPECT_EQ(attention(q, q, q, 2, slots, slots, {}).lse.shape(), (Shape{1, 2, 4}));
}

TEST_F(Rules, OfCrossEntropy) {
  EXPECT_THAT(message_of([&] {
                softmax_cross_entropy(f32({3, 4}), i32({4}));
              }),
              HasSubstr("labels"));
  EXPECT_THAT(message_of([&] { softmax_cross_entropy(f32({3}), i32({3})); }), HasSubstr("[M, V]"));
}

TEST_F(Rules, AxesIncreaseWithinTheRank) {
  EXPECT_THAT(message_of([&] { reduce_sum(f32({2, 3}), {1, 0}); }), HasSubstr("[1, 0]"));
  EXPECT_THAT(message_of([&] { reduce_sum(f32({2, 3}), {2}); }), HasSubstr("rank 2"));
  EXPECT_THAT(message_of([&] { reduce_max(f32({0}), {0}); }), HasSubstr("maximum of nothing"));
}

}  // namespace
}  // namespace bertrain
