// Printing as Python does; the expected texts are json.dumps' own (3.11).
#include "task/squad/python_json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace bertrain {
namespace {

TEST(PythonJson, NumbersAreRepr) {
  const std::pair<double, const char*> kCases[] = {
      {0.0, "0.0"},
      {-0.0, "-0.0"},
      {1.0, "1.0"},
      {100.0, "100.0"},
      {0.1, "0.1"},
      {0.0001, "0.0001"},
      {1e-05, "1e-05"},
      {9.999e-05, "9.999e-05"},
      {123456789012345.0, "123456789012345.0"},
      {1234567890123456.0, "1234567890123456.0"},
      {1e15, "1000000000000000.0"},
      {1e16, "1e+16"},
      {1.2345678901234567e22, "1.2345678901234568e+22"},
      {200.0 / 3, "66.66666666666667"},
      {-10.717202365398407, "-10.717202365398407"},
      {5e-324, "5e-324"},
      {1.7976931348623157e308, "1.7976931348623157e+308"},
      {0.14557384647246993, "0.14557384647246993"},
      {1.0 / 3, "0.3333333333333333"},
      {0.001953125, "0.001953125"},
  };
  for (const auto& [value, text] : kCases) EXPECT_EQ(python_number(value), text);
  EXPECT_EQ(python_number(std::numeric_limits<double>::infinity()), "Infinity");
  EXPECT_EQ(python_number(std::nan("")), "NaN");
}

TEST(PythonJson, NumbersAreReadAsTheSameAgain) {
  uint64_t bits = 1;
  for (int i = 0; i < 20000; ++i) {
    bits = bits * 6364136223846793005u + 1442695040888963407u;
    double value;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    ASSERT_EQ(std::stod(python_number(std::fmod(value, 1e6) + 1)), std::fmod(value, 1e6) + 1);
  }
}

TEST(PythonJson, TextsAreAscii) {
  EXPECT_EQ(python_text("a\"\\/\n\t\x01\x7f é東😀"),
            R"("a\"\\/\n\t\u0001\u007f \u00e9\u6771\ud83d\ude00")");
}

TEST(PythonJson, OneLineOrIndented) {
  Json value = {
      {"exact", 50.0}, {"total", 2}, {"list", {1, true, nullptr}}, {"none", Json::array()}};
  EXPECT_EQ(python_json(value),
            R"({"exact": 50.0, "total": 2, "list": [1, true, null], "none": []})");
  EXPECT_EQ(python_json(value, 2),
            "{\n  \"exact\": 50.0,\n  \"total\": 2,\n  \"list\": [\n    1,\n    true,\n    null\n  "
            "],\n  \"none\": []\n}");
  EXPECT_EQ(python_json(Json::object(), 2), "{}");
}

}  // namespace
}  // namespace bertrain
