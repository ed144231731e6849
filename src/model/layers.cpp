// Dense layers, norms and logits with their parameters.
#include "model/layers.h"

#include "base/error.h"

namespace bertrain {

Tensor master_param(const Scope& scope, std::string_view name, Shape shape, Init init) {
  scope.param(name, std::move(shape), init);
  Tensor master = scope.graph().find_input((scope / name).path());
  check(static_cast<bool>(master), "a parameter is an input of its name");
  return master;
}

Tensor dense(const Scope& scope, Tensor x, int64_t width, double stddev) {
  auto guard = scope.enter();
  Tensor kernel = scope.param("kernel", {x.extent(-1), width}, {Init::truncated_normal, stddev});
  Tensor bias = master_param(scope, "bias", {width}, {Init::zeros});
  return linear(x, kernel, bias);
}

Tensor activate(Tensor x, Activation activation) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::gelu_tanh:
      return gelu(x);
    case Activation::gelu_erf:
      return gelu_erf(x);
    case Activation::relu:
      return relu(x);
    case Activation::tanh:
      return tanh(x);
  }
  throw std::logic_error("unknown activation");
}

NormParameters norm_parameters(const Scope& scope, int64_t width) {
  // beta first: the order of TensorFlow's variables.
  Tensor beta = master_param(scope, "beta", {width}, {Init::zeros});
  Tensor gamma = master_param(scope, "gamma", {width}, {Init::ones});
  return {gamma, beta};
}

Tensor logits(const Scope& scope, Tensor x, Tensor table, std::string_view bias_name) {
  int64_t classes = table.extent(0);
  Tensor bias = master_param(scope, bias_name, {classes}, {Init::zeros});
  if (x.dtype() == DType::f32) return linear(x, table, bias, true);
  Tensor product = matmul(x, table, {.transpose_b = true, .dtype = DType::f32});
  return product + broadcast(bias, product.shape());
}

}  // namespace bertrain
