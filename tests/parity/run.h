// Runs recordings with values, and measures slopes.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "case.h"

namespace bertrain {

struct NamedBackend {
  std::string name;
  std::unique_ptr<Backend> backend;
};
std::vector<NamedBackend> all_backends();  // the reference first

// A recording with its inputs' values, run on a backend: the outputs in order.
struct Recorded {
  Graph graph;
  std::vector<Array> inputs;
};
// The case's outputs; with gradients, those of its loss after them, one for each of wrt. The loss
// is Σ outputs · weights over `through`.
Recorded record_case(const Case& c, bool with_gradients);
// Several cases one after the other, with gradients, as one program.
Recorded record_cases(std::span<const Case> cases);
std::vector<Array> run(Backend& backend, const Recorded& recorded);

std::vector<double> numbers(const Array& a);  // of any dtype
// "" or where and by how much the two differ beyond the tolerance of their dtype, or of bf16 where
// they were computed from it.
std::string difference(const Array& expected, const Array& found, bool rounded,
                       double tolerance = 2e-5);

// "" or the input and direction in which the recorded gradient is not the slope of the loss.
std::string wrong_gradient(const Case& c);

}  // namespace bertrain
