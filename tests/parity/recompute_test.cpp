// Recomputed layers: the same gradients, fewer values alive, on every backend.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "run.h"
#include "tensor/scope.h"

namespace bertrain {
namespace {

constexpr int64_t kSlots = 24, kHidden = 8;

struct Outcome {
  Named<Array> gradients;
  uint64_t temporary = 0;
  size_t nodes = 0;
};

Outcome train_once(Backend& backend, int layers, bool recompute) {
  Recording r({.training = true});
  Graph& g = r.graph();
  Slots slots = packed_slots(1, kSlots, {9, 8});
  DeviceArrays in;
  auto given = [&](const std::string& name, const Array& value) {
    in[name] = backend.put(value, Placement::replicate);
    return g.input(name, value.type);
  };
  Tensor x = given("x", Values(1).normal(DType::f32, {1, kSlots, kHidden}));
  Tensor example = given("example", slots.example), is_key = given("is_key", slots.is_key);
  Tensor number = given("number", slots.number), position = given("position", slots.position);
  Init init{Init::truncated_normal, 0.3};

  auto layer = [&](const Scope& s, Tensor h) {
    auto guard = s.enter();
    auto dense = [&](std::string_view name, Tensor t, int64_t width) {
      return linear(t, (s / name).param("kernel", {t.extent(-1), width}, init),
                    (s / name).param("bias", {width}, init));
    };
    Tensor gamma = s.param("gamma", {kHidden}, {Init::ones}),
           beta = s.param("beta", {kHidden}, init);
    Tensor a =
        attention(dense("query", h, kHidden), dense("key", h, kHidden), dense("value", h, kHidden),
                  2, example, is_key, {s.dropout_key(), number, position, 0.1})
            .y;
    h = add_and_norm(h, a, gamma, beta, {s.dropout_key(), number, position, 0.1}, 1e-6).y;
    Tensor f = dense("output", gelu(dense("intermediate", h, 4 * kHidden)), kHidden);
    return add_and_norm(h, f, gamma, beta, {s.dropout_key(), number, position, 0.1}, 1e-6).y;
  };
  Tensor y = repeat(r.scope() / "encoder", layers, x, layer, recompute);
  Tensor loss =
      reduce_sum(gather_rows(reshape(y, {kSlots, kHidden}),
                             given("slot", make_array<int32_t>({2}, std::vector<int32_t>{0, 9}))),
                 {0, 1});
  Tensors masters = {x};
  for (const Parameter& p : r.parameters()) {
    masters.push_back(p.master);
    in[p.name] = backend.put(initial_value(p, 7), Placement::replicate);
  }
  for (const DropoutKey& k : r.dropout_keys()) {
    in[k.input] = backend.put(dropout_key_value(k, 7, 1), Placement::replicate);
  }
  Tensors grads = gradients(loss * 3, masters);
  for (size_t i = 0; i < grads.size(); ++i) {
    g.output("gradient/" + masters[i].node()->name, grads[i]);
  }
  auto program = backend.compile(g);
  Outcome out;
  for (const auto& [name, value] : program->run(in)) out.gradients[name] = backend.get(*value);
  out.temporary = program->facts().temporary;
  out.nodes = g.nodes().size();
  return out;
}

TEST(Recompute, GivesEqualGradientsWithFewerValuesAlive) {
  for (const NamedBackend& b : all_backends()) {
    SCOPED_TRACE(b.name);
    Outcome kept = train_once(*b.backend, 3, false), again = train_once(*b.backend, 3, true);
    EXPECT_GT(again.nodes, kept.nodes + 24) << "bodies are recorded again";
    ASSERT_EQ(kept.gradients.size(), again.gradients.size());
    for (const auto& [name, value] : kept.gradients) {
      Array other = again.gradients.at(name);
      EXPECT_TRUE(std::equal(value.raw().begin(), value.raw().end(), other.raw().begin())) << name;
    }
    // What five layers more cost: all their values, or little more than their inputs.
    uint64_t growth = train_once(*b.backend, 8, false).temporary - kept.temporary;
    uint64_t growth_again = train_once(*b.backend, 8, true).temporary - again.temporary;
    EXPECT_GT(growth, uint64_t{5 * kSlots * kHidden * 4 * 10});
    EXPECT_LT(growth_again, growth / 4);
  }
}

}  // namespace
}  // namespace bertrain
