// The reference backend: values of primitives by hand, bf16 rounding, donation, refused inputs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backend/backend.h"
#include "base/error.h"
#include "tensor/ops/ops.h"
#include "tensor/scope.h"

namespace bertrain {
namespace {

using testing::ElementsAre;

Array f32(Shape shape, std::vector<float> values) { return make_array<float>(shape, values); }
Array i32(Shape shape, std::vector<int32_t> values) { return make_array<int32_t>(shape, values); }

// Runs a graph built of inputs "0", "1", … and returns its output "y".
Array run(const std::vector<Array>& inputs, const std::function<Tensor(Graph&, Tensors)>& build) {
  Graph g;
  auto backend = make_reference_backend();
  Tensors tensors;
  DeviceArrays given;
  for (const Array& a : inputs) {
    std::string name = std::to_string(tensors.size());
    tensors.push_back(g.input(name, a.type));
    given[name] = backend->put(a, Placement::replicate);
  }
  g.output("y", build(g, tensors));
  return backend->get(*backend->compile(g)->run(given).at("y"));
}

template <class T>
std::vector<T> list(const Array& a) {
  auto values = a.as<T>();
  return {values.begin(), values.end()};
}

TEST(Reference, MovesElements) {
  Array x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(list<float>(run({x},
                              [](Graph&, Tensors t) {
                                return transpose(t[0], {1, 0});
                              })),
              ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(list<float>(run({x},
                              [](Graph&, Tensors t) {
                                return slice(t[0], {0, 1}, {2, 3});
                              })),
              ElementsAre(2, 3, 5, 6));
  EXPECT_THAT(list<float>(run({x},
                              [](Graph&, Tensors t) {
                                return pad(t[0], {1, 0}, {0, 1});
                              })),
              ElementsAre(0, 0, 0, 0, 1, 2, 3, 0, 4, 5, 6, 0));
  EXPECT_THAT(list<float>(run({x},
                              [](Graph&, Tensors t) {
                                return concatenate({t[0], t[0]}, 1);
                              })),
              ElementsAre(1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6));
  Array column = f32({2, 1}, {7, 8});
  EXPECT_THAT(list<float>(run({column},
                              [](Graph&, Tensors t) {
                                return broadcast(t[0], {2, 2});
                              })),
              ElementsAre(7, 7, 8, 8));
  EXPECT_THAT(list<float>(run({f32({2}, {7, 8})},
                              [](Graph&, Tensors t) {
                                return broadcast(t[0], {2, 2}, {0});
                              })),
              ElementsAre(7, 7, 8, 8));
  EXPECT_THAT(list<int32_t>(run({},
                                [](Graph& g, Tensors) {
                                  return iota(g, {2, 2}, 1, DType::i32);
                                })),
              ElementsAre(0, 1, 0, 1));
}

TEST(Reference, Sums) {
  Array x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(list<float>(run({x}, [](Graph&, Tensors t) { return reduce_sum(t[0], {0}); })),
              ElementsAre(5, 7, 9));
  EXPECT_THAT(list<float>(run({x}, [](Graph&, Tensors t) { return reduce_max(t[0], {1}); })),
              ElementsAre(3, 6));
  EXPECT_THAT(list<float>(run({x, x},
                              [](Graph&, Tensors t) {
                                return matmul(t[0], t[1], {false, true});
                              })),
              ElementsAre(14, 32, 32, 77));
  EXPECT_THAT(list<float>(run({x, x},
                              [](Graph&, Tensors t) {
                                return matmul(t[0], t[1], {true, false});
                              })),
              ElementsAre(17, 22, 27, 22, 29, 36, 27, 36, 45));
  Array ids = i32({3}, {1, 0, 1});
  EXPECT_THAT(
      list<float>(run({x, ids, f32({3, 3}, {1, 1, 1, 2, 2, 2, 3, 3, 3})},
                      [](Graph&, Tensors t) { return scatter_add_rows(t[0], t[1], t[2]); })),
      ElementsAre(3, 4, 5, 8, 9, 10));
  Array empty = f32({0, 3}, {});
  EXPECT_THAT(list<float>(run({empty}, [](Graph&, Tensors t) { return reduce_sum(t[0], {0}); })),
              ElementsAre(0, 0, 0));
}

TEST(Reference, MaximaKeepNaN) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  Array x = f32({3}, {1, nan, 2});
  EXPECT_TRUE(
      std::isnan(run({x}, [](Graph&, Tensors t) { return reduce_max(t[0], {0}); }).as<float>()[0]));
  Array y = run({x, f32({3}, {nan, 0, 5})}, [](Graph&, Tensors t) { return maximum(t[0], t[1]); });
  EXPECT_TRUE(std::isnan(y.as<float>()[0]));
  EXPECT_TRUE(std::isnan(y.as<float>()[1]));
  EXPECT_EQ(y.as<float>()[2], 5);
}

TEST(Reference, IntegersWrapAndRefuseDivisionByZero) {
  Array big = i32({1}, {std::numeric_limits<int32_t>::max()}), one = i32({1}, {1});
  EXPECT_EQ(run({big, one}, [](Graph&, Tensors t) { return t[0] + t[1]; }).as<int32_t>()[0],
            std::numeric_limits<int32_t>::min());
  EXPECT_THROW(run({one, i32({1}, {0})}, [](Graph&, Tensors t) { return t[0] / t[1]; }), Error);
  EXPECT_EQ(run({i32({1}, {-1})}, [](Graph&, Tensors t) { return convert(t[0], DType::u32); })
                .as<uint32_t>()[0],
            0xFFFFFFFFu);
}

TEST(Reference, RoundsBf16OnceAfterComputingInF32) {
  // 1 + 2⁻⁷ is the next bf16 after 1; in f32 the sum of 1 and 2⁻⁹ is exact, in bf16 it is 1.
  Array x = f32({3}, {1, 0.001953125f, 0.005859375f});
  Array y = run({x}, [](Graph&, Tensors t) {
    Tensor b = convert(t[0], DType::bf16);
    return matmul(reshape(b, {1, 3}),
                  broadcast(convert(full(t[0].graph(), {3, 1}, 1), DType::bf16), {3, 1}),
                  {false, false, DType::f32});
  });
  EXPECT_EQ(y.as<float>()[0], 1.0078125f);
  Array z = run({x}, [](Graph&, Tensors t) {
    Tensor b = convert(t[0], DType::bf16);
    return slice(b, {0}, {1}) + slice(b, {1}, {2});
  });
  EXPECT_EQ(z.type.dtype, DType::bf16);
  EXPECT_EQ(bf16_to_f32(z.as<uint16_t>()[0]), 1.0f);
}

TEST(Reference, NamesIdsOutsideTheTable) {
  auto gather = [](Graph& g, Tensors t) {
    Scope::Guard guard(g, "bert/embeddings");
    return gather_rows(t[0], t[1]);
  };
  for (int32_t id : {2, -1}) {
    try {
      run({f32({2, 1}, {1, 2}), i32({1}, {id})}, gather);
      FAIL();
    } catch (const Error& e) {
      EXPECT_EQ(std::string(e.what()),
                fmt::format("bert/embeddings: gather_rows: id {} is outside 0 … 1", id));
    }
  }
}

TEST(Reference, OutputsReplaceInputsOfTheirName) {
  auto backend = make_reference_backend();
  Graph g;
  Tensor w = g.input("w", {DType::f32, {2}});
  g.output("w", w * 2);
  g.output("old", w * 1);
  auto program = backend->compile(g);
  auto before = backend->put(f32({2}, {1, 2}), Placement::replicate);
  DeviceArrays after = program->run({{"w", before}});
  EXPECT_THAT(list<float>(backend->get(*after["w"])), ElementsAre(2, 4));
  EXPECT_THROW(backend->get(*before), std::logic_error);
  EXPECT_THROW(program->run({{"w", before}}), std::logic_error);
}

TEST(Reference, ReplicasRunOnTheirPartsAndSumOverAll) {
  auto backend = make_reference_backend(3);
  EXPECT_EQ(backend->replicas(), 3);
  Graph g;
  Tensor w = g.input("w", {DType::f32, {2}}), x = g.input("x", {DType::f32, {2}}, Placement::split);
  g.output("w", w + all_reduce_sum(x));
  g.output("y", w * x, Placement::split);
  g.output("own", w * x);  // of each replica, under the name of what is equal everywhere
  auto program = backend->compile(g);
  auto given = backend->put(f32({2}, {10, 100}), Placement::replicate);
  auto parts = backend->put(f32({6}, {1, 2, 3, 4, 5, 6}), Placement::split);
  EXPECT_EQ(parts->type().shape, (Shape{6}));
  EXPECT_EQ(given->type().shape, (Shape{2}));
  EXPECT_THAT(list<float>(backend->get(*parts)), ElementsAre(1, 2, 3, 4, 5, 6));
  DeviceArrays out = program->run({{"w", given}, {"x", parts}});
  EXPECT_THAT(list<float>(backend->get(*out["w"])), ElementsAre(19, 112));
  EXPECT_THAT(list<float>(backend->get(*out["y"])), ElementsAre(10, 200, 30, 400, 50, 600));
  EXPECT_THROW(backend->get(*out["own"]), std::logic_error);
  EXPECT_THROW(backend->put(f32({4}, {1, 2, 3, 4}), Placement::split), std::logic_error);
  auto replicated = backend->put(f32({2}, {1, 2}), Placement::replicate);
  EXPECT_THROW(program->run({{"w", out["w"]}, {"x", replicated}}), Error);
}

TEST(Reference, RefusesWrongInputs) {
  auto backend = make_reference_backend();
  Graph g;
  g.output("y", g.input("x", {DType::f32, {2}}));
  auto program = backend->compile(g);
  auto two = backend->put(f32({2}, {1, 2}), Placement::replicate);
  auto three = backend->put(f32({3}, {1, 2, 3}), Placement::replicate);
  EXPECT_THROW(program->run({}), Error);
  EXPECT_THROW(program->run({{"x", three}}), Error);
  EXPECT_THROW(program->run({{"x", two}, {"z", two}}), Error);
  EXPECT_EQ(program->profile({{"x", two}}).count("input"), 1u);
}

}  // namespace
}  // namespace bertrain
