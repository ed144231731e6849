// Choosing an instruction set by name.
#include "backend/cpu/kernels/instruction_set.h"

#include <gmock/gmock.h>

#include "backend/cpu/kernels/elementwise.h"
#include "base/error.h"

namespace bertrain {
namespace {

TEST(InstructionSet, IsTheBestUnlessChosen) {
  const std::vector<std::string> names = instruction_sets();
  ASSERT_FALSE(names.empty());
  EXPECT_EQ(instruction_set(), names.front());
  use_instruction_set(names.back());
  EXPECT_EQ(instruction_set(), names.back());
  const float x = 4;
  float y = 0;
  map(Unary::sqrt, {&x}, &y, DType::f32, 1);
  EXPECT_EQ(y, 2);
  use_instruction_set(names.front());
  EXPECT_EQ(instruction_set(), names.front());
}

TEST(InstructionSet, NamesWhatThereIs) {
  try {
    use_instruction_set("MMX");
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("MMX"));
    EXPECT_THAT(e.what(), testing::HasSubstr(instruction_sets().front()));
  }
}

}  // namespace
}  // namespace bertrain
