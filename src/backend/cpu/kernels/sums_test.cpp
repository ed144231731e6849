// Sums against plain loops, and their independence of the number of threads.
#include "backend/cpu/kernels/sums.h"

#include <omp.h>

#include "backend/cpu/kernels/test_values.h"

namespace bertrain {
namespace {

TEST(Sums, EqualPlainLoops) {
  on_each_instruction_set([] {
    for (DType dtype : {DType::f32, DType::bf16}) {
      const std::pair<int64_t, int64_t> sizes[] = {
          {1, 1}, {5, 33}, {700, 100}, {67, 5001}, {0, 20}};
      for (const auto& [rows, columns] : sizes) {
        TestValues x(rows * columns, 1, dtype);
        std::vector<float> by_column(columns), by_row(rows);
        column_sums(x.data(), dtype, rows, columns, by_column.data());
        row_sums(x.data(), dtype, rows, columns, by_row.data());
        double all = 0;
        for (int64_t c = 0; c < columns; ++c) {
          double want = 0;
          for (int64_t r = 0; r < rows; ++r) want += x[r * columns + c];
          EXPECT_NEAR(by_column[c], want, 1e-4);
        }
        for (int64_t r = 0; r < rows; ++r) {
          double want = 0;
          for (int64_t c = 0; c < columns; ++c) {
            want += x[r * columns + c], all += double{x[r * columns + c]} * x[r * columns + c];
          }
          EXPECT_NEAR(by_row[r], want, 1e-3);
        }
        EXPECT_NEAR(sum_of_squares(x.data(), dtype, rows * columns), all, 5e-6 * all);
      }
    }
  });
}

TEST(Sums, DoNotDependOnThreads) {
  TestValues x(1000 * 300, 1);
  const int before = omp_get_max_threads();
  std::vector<std::vector<float>> sums(3, std::vector<float>(300));
  std::vector<double> squares(3);
  for (int threads = 1; threads <= 3; ++threads) {
    omp_set_num_threads(threads);
    column_sums(x.data(), DType::f32, 1000, 300, sums[threads - 1].data());
    squares[threads - 1] = sum_of_squares(x.data(), DType::f32, 300000);
  }
  omp_set_num_threads(before);
  EXPECT_EQ(sums[0], sums[1]);
  EXPECT_EQ(sums[0], sums[2]);
  EXPECT_EQ(squares[0], squares[1]);
  EXPECT_EQ(squares[0], squares[2]);
}

}  // namespace
}  // namespace bertrain
