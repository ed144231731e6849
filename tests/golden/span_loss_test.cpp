// The loss of an answer's span, its logits and its gradient against the formula, on every backend, packed
// and padded.
#include "task/squad/span_loss.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tensor/ops/ops.h"
#include "tiny_bert.h"

namespace bertrain {
namespace {

using Doubles = std::vector<double>;

// Slots [R, S] of examples that are adjacent, and the last place of the examples left empty.
struct Packing {
  std::vector<int32_t> example;  // [R, S]
  int64_t rows;
  std::vector<int32_t> first, start, end;  // [E]
  int64_t length;
};

const Packing kPacked = {
    {0, 0, 0, 1, 1, 1, 1, 2, 2, -1}, 1, {0, 3, 7, 0}, {1, 0, 1, 0}, {2, 3, 0, 0}, 4};
// Two rows, the last slot of which is an example's.
const Packing kShortRows = {
    {0, 0, 0, -1, -1, 1, 1, 1, 2, 2}, 2, {0, 5, 8, 0}, {1, 0, 1, 0}, {2, 2, 0, 0}, 4};
// Padded to 3 slots each, all of which belong to their example.
const Packing kPadded = {
    {0, 0, 0, 1, 1, 1, 2, 2, 2, -1}, 1, {0, 3, 6, 0}, {1, 0, 1, 0}, {2, 2, 0, 0}, 3};

class SpanLoss : public testing::TestWithParam<NamedBackend> {
 protected:
  void SetUp() override {
    backend_ = GetParam().make();
    if (!backend_) GTEST_SKIP() << kNoPlugin;
  }

  Named<Array> compute(const Packing& p, const std::vector<float>& logits) {
    Recording recording({.training = true});
    Graph& graph = recording.graph();
    int64_t slots = std::ssize(p.example), examples = std::ssize(p.first);
    Named<Array> in = {
        {"logits", make_array<float>({slots, 2}, logits)},
        {"example", make_array<int32_t>({p.rows, slots / p.rows}, p.example)},
        {"first", make_array<int32_t>({examples}, p.first)},
        {"start", make_array<int32_t>({examples}, p.start)},
        {"end", make_array<int32_t>({examples}, p.end)},
        {"weight", make_array<float>({examples}, std::vector<float>{0.5F, 2.0F, 1.0F, 0.0F})}};
    Inputs t;
    for (const auto& [name, value] : in) t[name] = graph.input(name, value.type);
    Spans found = spans(t["logits"], t["example"], t["first"], p.length, t["start"], t["end"]);
    graph.output("loss", found.loss);
    graph.output("starts", found.start_logits);
    graph.output("ends", found.end_logits);
    Tensor total = reduce_sum(found.loss * t["weight"], {0});
    graph.output("gradient", gradients(total, {t["logits"]})[0]);
    auto program = backend_->compile(graph);
    DeviceArrays arrays;
    for (const auto& [name, value] : in) arrays[name] = backend_->put(value, Placement::replicate);
    Named<Array> out;
    for (const auto& [name, value] : program->run(arrays)) out[name] = backend_->get(*value);
    return out;
  }

  std::unique_ptr<Backend> backend_;
};

void compare_with_formula(const Packing& p, const std::vector<float>& logits, Named<Array> found) {
  const Doubles weight = {0.5, 2, 1};
  auto slots = p.example.size(), length = static_cast<size_t>(p.length);
  Doubles losses(3), gradient(slots * 2);
  for (size_t side = 0; side < 2; ++side) {
    auto rows = found.at(side == 0 ? "starts" : "ends").as<float>();
    for (size_t e = 0; e < 3; ++e) {
      auto first = static_cast<size_t>(p.first[e]);
      auto gold = first + static_cast<size_t>(side == 0 ? p.start[e] : p.end[e]);
      double sum = 0;
      auto x = [&](size_t slot) { return static_cast<double>(logits[slot * 2 + side]); };
      auto own = [&](size_t slot) {
        return slot < slots && p.example[slot] == static_cast<int32_t>(e);
      };
      for (size_t s = 0; s < slots; ++s) sum += own(s) ? std::exp(x(s)) : 0;
      losses[e] += (std::log(sum) - x(gold)) / 2;
      for (size_t s = 0; s < slots; ++s) {
        if (!own(s)) continue;
        gradient[s * 2 + side] = weight[e] / 2 * (std::exp(x(s)) / sum - (s == gold ? 1 : 0));
      }
      for (size_t l = 0; l < length; ++l) {
        float wanted =
            own(first + l) ? logits[(first + l) * 2 + side] : static_cast<float>(kNoSlot);
        EXPECT_EQ(rows[e * length + l], wanted) << "example " << e << ", position " << l;
      }
    }
  }
  auto loss = found.at("loss").as<float>();
  for (size_t e = 0; e < 3; ++e) EXPECT_NEAR(double{loss[e]}, losses[e], 2e-6) << e;
  EXPECT_TRUE(std::isfinite(loss[3]));  // of no example
  auto slopes = found.at("gradient").as<float>();
  for (size_t i = 0; i < gradient.size(); ++i)
    EXPECT_NEAR(double{slopes[i]}, gradient[i], 2e-6) << i;
}

TEST_P(SpanLoss, IsTheMeanOfTwoCrossEntropiesOverTheExamplesSlots) {
  std::vector<float> logits;
  for (int i = 0; i < 20; ++i) logits.push_back(static_cast<float>(i * i % 7) - 2.5F);
  for (const Packing* packing : {&kPacked, &kShortRows, &kPadded}) {
    compare_with_formula(*packing, logits, compute(*packing, logits));
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, SpanLoss, testing::ValuesIn(golden_and_plugin_backends()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace bertrain
