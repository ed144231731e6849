// Gathering and scattering rows, with ids that repeat.
#include "backend/cpu/kernels/embedding.h"

#include "backend/cpu/kernels/test_values.h"

namespace bertrain {
namespace {

TEST(Embedding, GathersAndAddsBack) {
  on_each_instruction_set([] {
    for (DType dtype : {DType::f32, DType::bf16}) {
      for (int64_t width : {1, 64, 100, 259}) {
        TestValues table(10 * width, 1), rows(200 * width, 2, dtype);
        std::vector<int32_t> ids;
        for (int i = 0; i < 200; ++i) ids.push_back(i * i % 9);
        std::vector<float> taken(200 * width);
        gather_rows(table.data(), ids.data(), 200, width * 4, taken.data());
        std::vector<double> want(table.numbers.begin(), table.numbers.end());
        for (int64_t i = 0; i < 200; ++i) {
          for (int64_t c = 0; c < width; ++c) {
            ASSERT_EQ(taken[i * width + c], table[ids[i] * width + c]);
            want[ids[i] * width + c] += rows[i * width + c];
          }
        }
        scatter_add_rows(rows.data(), dtype, ids.data(), 200, width, table.numbers.data());
        for (int64_t i = 0; i < 10 * width; ++i) ASSERT_NEAR(table[i], want[i], 2e-5);
      }
    }
  });
}

}  // namespace
}  // namespace bertrain
