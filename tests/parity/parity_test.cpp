// Every op on every backend against its expansion on the reference, forward and backward.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "base/error.h"
#include "run.h"

namespace bertrain {
namespace {

bool has_bf16(const Case& c) {
  return std::any_of(c.inputs.begin(), c.inputs.end(),
                     [](const Array& a) { return a.type.dtype == DType::bf16; });
}

TEST(Parity, EveryOpHasACaseAndEveryGradientIsMeasured) {
  std::set<std::string_view> seen, differentiated;
  for (const Case& c : all_cases()) {
    seen.insert(c.op->name);
    if (!c.wrt.empty()) differentiated.insert(c.op->name);
  }
  for (const Op* op : op_table()) {
    EXPECT_TRUE(seen.contains(op->name)) << op->name << " has no case";
    if (op->grad) {
      EXPECT_TRUE(differentiated.contains(op->name)) << op->name << "'s gradient is not measured";
    }
  }
}

TEST(Parity, CasesRecordTheirOp) {
  for (const Case& c : all_cases()) {
    bool found = false;
    Recorded r = record_case(c, false);
    for (const Node* node : r.graph.nodes()) found = found || node->op == c.op;
    // Without a rate there is no dropout to record, and converting to the same type is nothing.
    if (!found && (c.op == &kDropout || c.op == &kConvert || c.op == &kReshape)) continue;
    EXPECT_TRUE(found) << c.label();
  }
}

void expect_equal(const Case& c, std::span<const Array> expected, std::span<const Array> found,
                  double tolerance) {
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(difference(expected[i], found[i], has_bf16(c), tolerance), "") << "output " << i;
  }
}

TEST(Parity, BackendsEqualTheReference) {
  auto reference = make_reference_backend();
  std::vector<NamedBackend> backends = all_backends();
  for (const Case& c : all_cases()) {
    Recorded recorded = record_case(c, true);
    // What the reference runs is the expansion: it takes no composite whole.
    std::vector<Array> expected = run(*reference, recorded);
    for (const NamedBackend& b : backends) {
      SCOPED_TRACE(b.name + ": " + c.label());
      try {
        std::vector<Array> found = run(*b.backend, recorded);
        ASSERT_EQ(found.size(), expected.size());
        expect_equal(c, expected, found, 2e-5);
      } catch (const std::exception& e) {
        ADD_FAILURE() << e.what();
      }
    }
  }
}

// A plugin compiles a program of several cases in little more time than one: so they share.
constexpr size_t kShares = 6, kCasesOfAProgram = 12;
class PluginParity : public testing::TestWithParam<size_t> {};

TEST_P(PluginParity, EqualsTheReference) {
  const char* plugin = std::getenv("BERTRAIN_CPU_PLUGIN");
  if (plugin == nullptr) {
    GTEST_SKIP() << "BERTRAIN_CPU_PLUGIN names no plugin for the CPU (./dev plugin cpu)";
  }
  PluginTarget target;
  target.path = plugin;
  auto backend = make_plugin_backend(target, {});
  auto reference = make_reference_backend();
  Cases all = all_cases(), ours;
  for (size_t i = GetParam(); i < all.size(); i += kShares) ours.push_back(all[i]);
  ASSERT_FALSE(ours.empty());
  for (size_t first = 0; first < ours.size(); first += kCasesOfAProgram) {
    size_t count = std::min(kCasesOfAProgram, ours.size() - first);
    std::span<const Case> cases(&ours[first], count);
    std::vector<Array> found = run(*backend, record_cases(cases));
    std::span<const Array> rest = found;
    for (const Case& c : cases) {
      SCOPED_TRACE(c.label());
      std::vector<Array> expected = run(*reference, record_case(c, true));
      ASSERT_GE(rest.size(), expected.size());
      expect_equal(c, expected, rest.first(expected.size()), 1e-5);
      rest = rest.subspan(expected.size());
    }
    EXPECT_TRUE(rest.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Shares, PluginParity, testing::Range(size_t{0}, kShares));

// The same op in bf16 and in f32 on the same (bf16) values: the expansions compute in f32.
TEST(Parity, Bf16IsF32RoundedOnce) {
  auto reference = make_reference_backend();
  for (Case c : all_cases()) {
    bool any = false;
    Case wide = c;
    for (Array& a : wide.inputs) {
      if (a.type.dtype != DType::bf16) continue;
      std::vector<double> values = numbers(a);
      a = make_array<float>(a.type.shape, std::vector<float>(values.begin(), values.end()));
      any = true;
    }
    if (!any || c.op == &kConvert || c.op == &kScatterAddRows) continue;
    if (c.op == &kMatmul) continue;  // its result type is an attribute
    SCOPED_TRACE(c.label());
    c.wrt.clear();
    wide.wrt.clear();
    std::vector<Array> found = run(*reference, record_case(c, false));
    std::vector<Array> expected = run(*reference, record_case(wide, false));
    for (size_t i = 0; i < found.size(); ++i) {
      std::vector<double> a = numbers(expected[i]), b = numbers(found[i]);
      double largest = 0;
      for (double v : a) largest = std::max(largest, std::fabs(v));
      for (size_t j = 0; j < a.size(); ++j)
        ASSERT_NEAR(a[j], b[j], largest / 64 + 1e-3) << i << " " << j;
    }
  }
}

}  // namespace
}  // namespace bertrain
