// The instruction sets that the kernels are compiled for, and which of them runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bertrain {

std::vector<std::string>
instruction_sets();             // those this CPU can run, best first: "AVX3", "AVX2", "SCALAR"
std::string instruction_set();  // the one in use; the best one unless another is chosen

// Sums are built in another order on another set, so a resumed run asks for the one it began with. Throws Error if
// this CPU does not have it. Not while kernels run.
void use_instruction_set(std::string_view name);

}  // namespace bertrain
