// The CPU backend against the reference on small programs that fuse, share memory and take their inputs' memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "backend/backend.h"
#include "backend/cpu/fuse.h"
#include "base/error.h"
#include "base/rng.h"
#include "tensor/ops/ops.h"

namespace bertrain {
namespace {

using testing::HasSubstr;

Array random_array(const ArrayType& type, uint32_t seed, int32_t bound = 4) {
  return make_array(type, [&](std::span<std::byte> bytes) {
    for (size_t i = 0; i < bytes.size() / size_of(type.dtype); ++i) {
      const Block random = threefry({seed, 1}, {static_cast<uint32_t>(i), 0});
      const float value = static_cast<float>(random[0] >> 8) / (1 << 23) - 1;
      const auto integer = static_cast<int32_t>(random[1] % static_cast<uint32_t>(bound));
      if (type.dtype == DType::f32) {
        reinterpret_cast<float*>(bytes.data())[i] = value;
      } else if (type.dtype == DType::bf16) {
        reinterpret_cast<uint16_t*>(bytes.data())[i] = f32_to_bf16(value);
      } else {
        reinterpret_cast<int32_t*>(bytes.data())[i] = integer;
      }
    }
  });
}

// A graph with the values of its inputs.
struct Scene {
  Graph graph;
  Named<Array> values;

  Tensor input(const std::string& name, ArrayType type, int32_t bound = 4) {
    values[name] = random_array(type, static_cast<uint32_t>(values.size() + 1), bound);
    return graph.input(name, type);
  }
  Tensor f32(const std::string& name, Shape shape) { return input(name, {DType::f32, shape}); }
  Named<Array> run(Backend& backend) {
    DeviceArrays inputs;
    for (const auto& [name, value] : values)
      inputs[name] = backend.put(value, Placement::replicate);
    Named<Array> results;
    for (const auto& [name, array] : backend.compile(graph)->run(inputs)) {
      results[name] = backend.get(*array);
    }
    return results;
  }
};

double number(const Array& a, size_t i) {
  switch (a.type.dtype) {
    case DType::f32:
      return a.as<float>()[i];
    case DType::bf16:
      return bf16_to_f32(a.as<uint16_t>()[i]);
    default:
      return a.as<int32_t>()[i];
  }
}

void expect_same(Scene& scene, double tolerance = 1e-5) {
  const Named<Array> want = scene.run(*make_reference_backend());
  const Named<Array> got = scene.run(*make_cpu_backend({}));
  ASSERT_EQ(got.size(), want.size());
  for (const auto& [name, array] : want) {
    SCOPED_TRACE(name);
    ASSERT_EQ(got.at(name).type, array.type);
    for (size_t i = 0; i < static_cast<size_t>(array.size()); ++i) {
      const double w = number(array, i);
      ASSERT_NEAR(number(got.at(name), i), w, tolerance * (1 + std::fabs(w))) << "at " << i;
    }
  }
}

// How many nodes of that op the recording has after fusing.
int count_fused(const Graph& graph, std::string_view op) {
  const Graph fused = fuse(expand(graph, [](const Node&) { return true; }));
  return static_cast<int>(
      std::ranges::count_if(fused.nodes(), [&](const Node* node) { return node->op->name == op; }));
}

// One transformer layer with both heads' kinds of loss, and the gradient of everything.
void record_layer(Scene& s, DType dtype) {
  constexpr int64_t kSlots = 24, kWidth = 16, kVocabulary = 37, kTargets = 5;
  Graph& g = s.graph;
  Tensors wrt;
  const auto param = [&](const std::string& name, Shape shape) {
    Tensor master = s.f32(name, std::move(shape));
    wrt.push_back(master);
    return master;
  };
  const auto weight = [&](const std::string& name, Shape shape) {
    return convert(param(name, std::move(shape)), dtype);
  };
  Tensor ids = s.input("ids", {DType::i32, {1, kSlots}}, kVocabulary);
  std::vector<int32_t> example(kSlots), position(kSlots), is_key(kSlots, 1), target{1, 5, 9, 9, 22};
  std::vector<uint32_t> numbers(kSlots), key{11, 22};
  for (int i = 0; i < kSlots; ++i) {
    example[i] = i < 10 ? 0 : i < 21 ? 1 : -1;
    position[i] = i < 10 ? i : i < 21 ? i - 10 : 0;
    numbers[i] = static_cast<uint32_t>(5 + example[i]);
    if (example[i] < 0 || i % 9 == 8) is_key[i] = 0;
  }
  const auto given = [&](const std::string& name, Array value) {
    s.values[name] = value;
    return g.input(name, value.type);
  };
  Tensor ex = given("example", make_array<int32_t>({1, kSlots}, example));
  Tensor keys = given("is_key", make_array<int32_t>({1, kSlots}, is_key));
  Dropout d{given("key", make_array<uint32_t>({2}, key)),
            given("number", make_array<uint32_t>({1, kSlots}, numbers)),
            given("position", make_array<int32_t>({1, kSlots}, position)), 0.25};

  Tensor table = param("table", {kVocabulary, kWidth});
  Tensor gamma = param("gamma", {kWidth}), beta = param("beta", {kWidth});
  Tensor x = layer_norm(gather_rows(table, ids), gamma, beta, 1e-6).y;
  x = dropout(convert(x, dtype), d);
  const auto dense = [&](const std::string& name, Tensor in, int64_t out) {
    return linear(in, weight(name + "/w", {in.extent(-1), out}), weight(name + "/b", {out}));
  };
  Tensor q = dense("q", x, kWidth), k = dense("k", x, kWidth), v = dense("v", x, kWidth);
  Tensor a = attention(q, k, v, 4, ex, keys, d).y;
  x = add_and_norm(x, dense("o", a, kWidth), gamma, beta, d, 1e-6).y;
  Tensor f = gelu(dense("f", x, 40));
  x = add_and_norm(x, dense("p", f, kWidth), gamma, beta, d, 1e-6).y;
  Tensor at = given("target", make_array<int32_t>({kTargets}, target));
  Tensor h = tanh(gather_rows(reshape(x, {kSlots, kWidth}), at));
  Tensor logits = matmul(h, convert(table, dtype), {false, true});
  logits = logits + broadcast(param("bias", {kVocabulary}), logits.shape());
  CrossEntropy loss =
      softmax_cross_entropy(logits, s.input("label", {DType::i32, {kTargets}}, kVocabulary));
  Tensor total = reduce_sum(loss.loss, {0});
  g.output("loss", total);
  g.output("argmax", loss.argmax);
  Tensors slopes = gradients(total, wrt);
  for (size_t i = 0; i < wrt.size(); ++i) g.output("d/" + wrt[i].node()->name, slopes[i]);
  g.output("norm", sum_of_squares(slopes));
}

TEST(CpuBackend, TrainsALayerAsTheReferenceDoes) {
  Scene s;
  record_layer(s, DType::f32);
  expect_same(s, 2e-5);
}

TEST(CpuBackend, TrainsALayerInBf16) {
  Scene s;
  record_layer(s, DType::bf16);
  expect_same(s, 0.06);
}

TEST(CpuBackend, ComputesALossWithItsGradient) {
  for (DType dtype : {DType::f32, DType::bf16}) {
    Scene s;
    Tensor x = s.f32("x", {6, 9}), label = s.input("label", {DType::i32, {6}}, 9);
    Tensor logits = x * x;
    CrossEntropy loss = softmax_cross_entropy(logits, label);
    Tensor total = reduce_sum(loss.loss * s.f32("weight", {6}), {0});
    s.graph.output("loss", total);
    s.graph.output("argmax", loss.argmax);
    Tensor slope = gradients(total, {logits})[0];
    s.graph.output("slope", matmul(convert(slope, dtype), convert(x, dtype), {true, false}));
    s.graph.output("bias", reduce_sum(slope, {0}));
    EXPECT_EQ(count_fused(s.graph, "cross_entropy_with_grad"), 1);
    EXPECT_EQ(count_fused(s.graph, "softmax_cross_entropy"), 0);
    EXPECT_EQ(count_fused(s.graph, "convert"), 0);
    expect_same(s, dtype == DType::f32 ? 1e-5 : 0.01);
  }
  // A gradient that begins with the loss itself keeps its own call.
  Scene s;
  Tensor x = s.f32("x", {6, 9}), label = s.input("label", {DType::i32, {6}}, 9);
  Tensor loss = softmax_cross_entropy(x, label).loss;
  s.graph.output("slope", gradients(reduce_sum(loss * loss, {0}), {x})[0]);
  EXPECT_EQ(count_fused(s.graph, "cross_entropy_with_grad"), 0);
  expect_same(s);
}

TEST(CpuBackend, JoinsSumsToProducts) {
  Scene s;
  Tensor x = s.f32("x", {7, 5}), w = s.f32("w", {5, 6}), u = s.f32("u", {5, 6});
  Tensor ids = s.input("ids", {DType::i32, {9}}, 7), rows = s.f32("rows", {9, 6});
  Tensor zero = full(s.graph, {7, 6}, 0);
  Tensor sum = s.f32("sum", {7, 6});
  Tensor y = matmul(x, w) + linear(x, u, {});
  s.graph.output("sum", sum + y);
  s.graph.output("table", scatter_add_rows(zero, ids, rows) + matmul(x, w + u));
  s.graph.output("biased", matmul(x, w) + broadcast(s.f32("b", {6}), {7, 6}));
  EXPECT_EQ(count_fused(s.graph, "product"), 4);
  EXPECT_EQ(count_fused(s.graph, "scatter_add_rows"), 1);
  EXPECT_EQ(count_fused(s.graph, "add"), 2);  // w + u, and sum + y
  EXPECT_EQ(count_fused(s.graph, "broadcast"), 0);
  expect_same(s);
}

TEST(CpuBackend, TakesTheMemoryOfItsInputs) {
  Scene s;
  Tensor w = s.f32("w", {100}), m = s.f32("m", {100}), v = s.f32("v", {100});
  Tensor g = s.f32("g", {100});
  Tensor setting = s.f32("setting", {});
  Updated u = adamw(w, g * w, m, v * v, setting, setting, setting * setting, setting, 0.9, 0.99);
  s.graph.output("w", u.param);
  s.graph.output("m", u.m);
  s.graph.output("v", u.v);
  s.graph.output("g", full(s.graph, {100}, 0));
  s.graph.output("old w", w);
  expect_same(s);

  Graph graph;
  graph.output("x", add(graph.input("x", {DType::f32, {4}}), graph.input("y", {DType::f32, {4}})));
  auto backend = make_cpu_backend({});
  auto program = backend->compile(graph);
  EXPECT_EQ(program->facts().temporary, 0u);
  auto x = backend->put(make_array<float>({4}, {1.0F, 2.0F, 3.0F, 4.0F}), Placement::replicate);
  auto y = backend->put(make_array<float>({4}, {1.0F, 1.0F, 1.0F, 1.0F}), Placement::replicate);
  DeviceArrays results = program->run({{"x", x}, {"y", y}});
  EXPECT_EQ(backend->get(*results.at("x")).as<float>()[3], 5);
  EXPECT_EQ(backend->get(*y).as<float>()[3], 1);
  EXPECT_THROW(backend->get(*x), std::logic_error);
  results = program->run({{"x", results.at("x")}, {"y", y}});
  EXPECT_EQ(backend->get(*results.at("x")).as<float>()[3], 6);
}

TEST(CpuBackend, GivesOneValueUnderSeveralNames) {
  Scene s;
  Tensor x = s.f32("x", {3, 4}), y = s.f32("y", {12});
  Tensor z = reshape(x, {12}) * y;
  s.graph.output("a", z);
  s.graph.output("b", reshape(z, {4, 3}));
  s.graph.output("x", reshape(y, {3, 4}));  // another input's value
  s.graph.output("y", reshape(x, {12}));
  s.graph.output("zero", full(s.graph, {5}, 0));
  expect_same(s);
}

TEST(CpuBackend, RunsWhatHasNoKernelByTheReference) {
  Scene s;
  Tensor x = s.f32("x", {3, 4, 5});
  Tensor i = s.input("i", {DType::i32, {3, 4, 5}}, 9);
  s.graph.output("transposed", transpose(x, {2, 0, 1}));
  s.graph.output("middle", reduce_sum(x, {1}));
  s.graph.output("ends", reduce_max(x, {0, 2}));
  s.graph.output("spread", broadcast(reduce_sum(x, {2}), {3, 4, 6}, {0, 1}));
  s.graph.output("integers", i + i);
  s.graph.output("chosen", select(compare(i, i + i, Compare::less), x, exp(x)));
  s.graph.output("batched", matmul(x, x, {true, false}));
  s.graph.output("bits", random_bits(s.graph.constant(make_array<uint32_t>({2}, {7u, 8u})),
                                     convert(i, DType::u32), convert(i, DType::u32))
                             .low);
  const Named<Array> want = s.run(*make_reference_backend());
  const Named<Array> got = s.run(*make_cpu_backend({}));
  EXPECT_TRUE(std::ranges::equal(got.at("bits").raw(), want.at("bits").raw()));
  EXPECT_TRUE(std::ranges::equal(got.at("chosen").raw().subspan(0, 4),
                                 want.at("chosen").raw().subspan(0, 4)));
  for (const char* name : {"transposed", "middle", "ends", "spread", "integers", "batched"}) {
    for (size_t n = 0; n < static_cast<size_t>(want.at(name).size()); ++n) {
      EXPECT_NEAR(number(got.at(name), n), number(want.at(name), n), 1e-5) << name;
    }
  }
}

TEST(CpuBackend, NamesWhatIsWrong) {
  Graph graph;
  std::string before = graph.enter("model/embeddings");
  Tensor table = graph.input("table", {DType::f32, {4, 2}});
  graph.output("y", gather_rows(table, graph.input("ids", {DType::i32, {1}})));
  graph.enter(before);
  auto backend = make_cpu_backend({});
  auto program = backend->compile(graph);
  DeviceArrays inputs{{"table", backend->put(zeros({DType::f32, {4, 2}}), Placement::replicate)},
                      {"ids", backend->put(make_array<int32_t>({1}, {4}), Placement::replicate)}};
  const auto message = [&](const DeviceArrays& in) -> std::string {
    try {
      program->run(in);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_THAT(message(inputs), testing::AllOf(HasSubstr("model/embeddings"), HasSubstr("id 4")));
  inputs["more"] = inputs["ids"];
  EXPECT_THAT(message(inputs), HasSubstr("'more'"));
  inputs.erase("more");
  inputs["ids"] = inputs["table"];
  EXPECT_THAT(message(inputs), HasSubstr("i32 [1]"));
  inputs.erase("ids");
  EXPECT_THAT(message(inputs), HasSubstr("'ids'"));
}

// Two ranks that hold the same, whose sums are there only once they are waited for.
struct Twin : Communicator {
  struct Late : Pending {
    explicit Late(std::span<float> v) : values(v) {}
    bool poll() override { return false; }
    void wait() override {
      for (float& x : values) x += x;
    }
    std::span<float> values;
  };
  int rank() const override { return 0; }
  int size() const override { return 2; }
  std::unique_ptr<Pending> start_sum(std::span<float> values) override {
    ++started;
    return std::make_unique<Late>(values);
  }
  void broadcast(std::span<std::byte>, int) override {}
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte>, int) override {
    return {};
  }
  void barrier() override {}
  void abort(std::string_view) override {}
  int started = 0;
};

TEST(CpuBackend, SumsOverProcessesBesideTheCalls) {
  Graph graph;
  Tensor x = graph.input("x", {DType::f32, {3}}), y = x * x, z = x + x;
  Tensor sum = all_reduce_sum(y), other = all_reduce_sum(z * x);
  graph.output("sum", sum);
  graph.output("mine", y);
  graph.output("after", reshape(sum, {3, 1}) * reshape(other, {3, 1}));
  Twin twin;
  BackendOptions options;
  for (bool together : {false, true}) {
    options.communicator = together ? &twin : nullptr;
    auto backend = make_cpu_backend(options);
    auto given = backend->put(make_array<float>({3}, {1.0F, 2.0F, 3.0F}), Placement::replicate);
    auto results = backend->compile(graph)->run({{"x", given}});
    EXPECT_EQ(backend->get(*results.at("sum")).as<float>()[2], together ? 18 : 9);
    EXPECT_EQ(backend->get(*results.at("mine")).as<float>()[2], 9);
    EXPECT_EQ(backend->get(*results.at("after")).as<float>()[2], together ? 18 * 36 : 9 * 18);
  }
  EXPECT_EQ(twin.started, 2);
  // Each sum stands right after what it sums.
  const Graph fused = fuse(expand(graph, [](const Node&) { return true; }));
  std::string order;
  for (const Node* node : fused.nodes()) order += std::string(node->op->name) + " ";
  EXPECT_THAT(order, HasSubstr("multiply all_reduce_sum add multiply all_reduce_sum"));
}

TEST(CpuBackend, KnowsItsNeedsAndItsTimes) {
  Scene s;
  Tensor x = s.f32("x", {64, 32}), w = s.f32("w", {32, 16});
  s.graph.output("y", gelu(matmul(x, w)));
  auto backend = make_cpu_backend({});
  auto program = backend->compile(s.graph);
  EXPECT_EQ(program->facts().arguments, (64u * 32 + 32 * 16) * 4);
  EXPECT_EQ(program->facts().temporary, 0u);  // GELU in place
  EXPECT_EQ(program->facts().peak, program->facts().arguments + 64u * 16 * 4);
  EXPECT_EQ(program->facts().flops, 2.0 * 64 * 32 * 16 + 64 * 16);
  DeviceArrays inputs;
  for (const auto& [name, value] : s.values)
    inputs[name] = backend->put(value, Placement::replicate);
  const Named<double> seconds = program->profile(inputs);
  EXPECT_EQ(seconds.size(), 2u);
  EXPECT_GE(seconds.at("product"), 0);
}

}  // namespace
}  // namespace bertrain
