// The layers that the encoder and its heads are made of, with TensorFlow's parameter names.
#pragma once

#include <string_view>

#include "model/config.h"
#include "tensor/ops/ops.h"
#include "tensor/scope.h"

namespace bertrain {

// The f32 master of a parameter, whatever the compute type: for norms, biases of logits, embedding
// rows.
Tensor master_param(const Scope& scope, std::string_view name, Shape shape, Init init);

// x [..., K] · kernel [K, width] + bias [width] → [..., width]; kernel drawn with that deviation.
Tensor dense(const Scope& scope, Tensor x, int64_t width, double stddev);

Tensor activate(Tensor x, Activation activation);

// gamma, beta f32 [H] of a layer normalization; the scope is ".../LayerNorm".
struct NormParameters {
  Tensor gamma, beta;
};
NormParameters norm_parameters(const Scope& scope, int64_t width);

// x [N, H] · table [C, H]ᵀ + bias [C] → f32 [N, C]; table in the compute type, bias named so under
// the scope.
Tensor logits(const Scope& scope, Tensor x, Tensor table, std::string_view bias);

}  // namespace bertrain
