// Running cases, comparing values, and central differences.
#include "run.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/rng.h"

namespace bertrain {
namespace {

// The weight of each element in the loss: not 0, no pattern that a wrong gradient could share.
Array loss_weights(const Shape& shape, uint32_t output) {
  return Values(900 + output).normal(DType::f32, shape);
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

Array from_numbers(const Shape& shape, const std::vector<double>& values) {
  std::vector<float> rounded(values.begin(), values.end());
  return make_array<float>(shape, rounded);
}

// The loss as a function of the case's inputs, summed in double from the f32 outputs.
class Loss {
 public:
  explicit Loss(const Case& c) : case_(c), recorded_(record_case(c, false)) {
    backend_ = make_reference_backend();
    program_ = backend_->compile(recorded_.graph);
  }

  double at(size_t input, const std::vector<double>& values) {
    DeviceArrays in;
    for (size_t i = 0; i < case_.inputs.size(); ++i) {
      const Array& a = case_.inputs[i];
      in["x" + std::to_string(i)] =
          backend_->put(i == input ? from_numbers(a.type.shape, values) : a, Placement::replicate);
    }
    DeviceArrays out = program_->run(in);
    double sum = 0;
    for (size_t o : case_.through) {
      Array y = backend_->get(*out.at("y" + std::to_string(o)));
      sum += dot(numbers(y), numbers(loss_weights(y.type.shape, static_cast<uint32_t>(o))));
    }
    return sum;
  }

  // d loss / d input along a direction. Central differences at h and h/2, extrapolated, leave an
  // error of h⁴ f⁽⁵⁾ / 480 ≈ 1e-9 from truncation, and from rounding of the outputs ≈ 6e-8 / h ≈ 3e-6 of
  // what the direction moves; the loss itself is summed in double, so elements that do not move
  // cancel exactly.
  double slope(size_t input, const std::vector<double>& direction) {
    constexpr double kStep = 0.02;
    return (4 * difference(input, direction, kStep / 2) - difference(input, direction, kStep)) / 3;
  }

 private:
  double difference(size_t input, const std::vector<double>& direction, double h) {
    std::vector<double> up = numbers(case_.inputs[input]), down = up;
    for (size_t i = 0; i < up.size(); ++i) {
      up[i] += h * direction[i];
      down[i] -= h * direction[i];
    }
    return (at(input, up) - at(input, down)) / (2 * h);
  }

  const Case& case_;
  Recorded recorded_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Program> program_;
};

// Single elements (all of a small input), then ±1 everywhere at random: the first find a wrong
// place, the second whatever is wrong anywhere.
std::vector<std::vector<double>> directions(size_t count) {
  std::vector<std::vector<double>> all;
  size_t stride = count <= 24 ? 1 : count / 8;
  for (size_t i = 0; i < count; i += stride) {
    all.emplace_back(count, 0.0);
    all.back()[i] = 1;
  }
  for (uint32_t n = 0; n < 4; ++n) {
    all.emplace_back(count);
    for (size_t i = 0; i < count; ++i) {
      all.back()[i] = threefry({n, 77}, {static_cast<uint32_t>(i), 0})[0] & 1 ? 1 : -1;
    }
  }
  return all;
}

}  // namespace

std::vector<NamedBackend> all_backends() {
  std::vector<NamedBackend> all;
  all.push_back({"reference", make_reference_backend()});
  BackendOptions one, two;
  one.threads = 1;
  two.threads = 2;
  all.push_back({"cpu, 1 thread", make_cpu_backend(one)});
  all.push_back({"cpu, 2 threads", make_cpu_backend(two)});
  return all;
}

namespace {

// Adds a case to the recording, after those that are in it.
void record(Recorded& r, const Case& c, bool with_gradients) {
  Tensors in;
  for (const Array& value : c.inputs) {
    in.push_back(r.graph.input("x" + std::to_string(r.inputs.size()), value.type));
    r.inputs.push_back(value);
  }
  auto output = [&](Tensor value) {
    r.graph.output("y" + std::to_string(r.graph.outputs().size()), value);
  };
  Tensors out = c.record(r.graph, in);
  for (Tensor value : out) output(value);
  if (!with_gradients || c.wrt.empty()) return;
  Tensor loss;
  for (size_t o : c.through) {
    Tensor weights = r.graph.constant(loss_weights(out[o].shape(), static_cast<uint32_t>(o)));
    Tensor weighted = convert(out[o], DType::f32) * weights;
    Tensor sum = reduce_sum(reshape(weighted, {elements(weighted.shape())}), {0});
    loss = loss ? loss + sum : sum;
  }
  Tensors wrt;
  for (size_t i : c.wrt) wrt.push_back(in[i]);
  for (Tensor gradient : gradients(loss, wrt)) output(gradient);
}

}  // namespace

Recorded record_case(const Case& c, bool with_gradients) {
  Recorded r;
  record(r, c, with_gradients);
  return r;
}

Recorded record_cases(std::span<const Case> cases) {
  Recorded r;
  for (const Case& c : cases) record(r, c, true);
  return r;
}

std::vector<Array> run(Backend& backend, const Recorded& recorded) {
  DeviceArrays in;
  for (size_t i = 0; i < recorded.inputs.size(); ++i) {
    in["x" + std::to_string(i)] = backend.put(recorded.inputs[i], Placement::replicate);
  }
  DeviceArrays out = backend.compile(recorded.graph)->run(in);
  std::vector<Array> values;
  for (const Output& o : recorded.graph.outputs()) values.push_back(backend.get(*out.at(o.name)));
  return values;
}

std::vector<double> numbers(const Array& a) {
  std::vector<double> values(static_cast<size_t>(a.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    switch (a.type.dtype) {
      case DType::f32:
        values[i] = a.as<float>()[i];
        break;
      case DType::bf16:
        values[i] = bf16_to_f32(a.as<uint16_t>()[i]);
        break;
      case DType::i32:
        values[i] = a.as<int32_t>()[i];
        break;
      case DType::u32:
        values[i] = a.as<uint32_t>()[i];
        break;
      case DType::boolean:
        values[i] = a.as<bool>()[i];
        break;
      default:
        throw std::logic_error("no numbers of this dtype");
    }
  }
  return values;
}

std::string difference(const Array& expected, const Array& found, bool rounded, double relative) {
  if (expected.type != found.type) {
    return fmt::format("{} instead of {}", to_string(found.type), to_string(expected.type));
  }
  std::vector<double> a = numbers(expected), b = numbers(found);
  double largest = 0;
  for (double v : a) largest = std::max(largest, std::isfinite(v) ? std::fabs(v) : 0);
  // Relative to the largest entry, where inputs are of the order of 1: f32 sums of some hundred
  // terms in another order and functions good to a few units in the last place; where bf16 is
  // involved, values that one side rounds on the way and the other does not.
  bool integer = expected.type.dtype != DType::f32 && expected.type.dtype != DType::bf16;
  rounded = rounded || expected.type.dtype == DType::bf16;
  double tolerance = integer ? 0 : rounded ? largest / 64 : relative * largest + 1e-6;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (!(std::fabs(a[i] - b[i]) <= tolerance)) {
      return fmt::format("element {}: {} instead of {} (tolerance {})", i, b[i], a[i], tolerance);
    }
  }
  return "";
}

std::string wrong_gradient(const Case& c) {
  size_t outputs = record_case(c, false).graph.outputs().size();
  std::vector<Array> values = run(*make_reference_backend(), record_case(c, true));
  Loss loss(c);
  for (size_t i = 0; i < c.wrt.size(); ++i) {
    std::vector<double> gradient = numbers(values[outputs + i]);
    double norm = std::sqrt(dot(gradient, gradient)), count = static_cast<double>(gradient.size());
    if (gradient.empty()) continue;
    for (const std::vector<double>& direction : directions(gradient.size())) {
      double measured = loss.slope(c.wrt[i], direction), claimed = dot(gradient, direction);
      // In proportion to the slope that a direction of this length has on average; 1e-3 of it is far above
      // the errors told at slope(), and far below what a wrong factor or a lost term makes.
      double scale = norm * std::sqrt(dot(direction, direction) / count);
      if (!(std::fabs(measured - claimed) <= 1e-3 * (scale + std::fabs(claimed)) + 1e-4)) {
        return fmt::format("{}: input {}: slope {}, but the gradient says {}", c.label(), c.wrt[i],
                           measured, claimed);
      }
    }
  }
  return "";
}

}  // namespace bertrain
