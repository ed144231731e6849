// A pass over an expanded recording that joins nodes which one call computes in one go.
//
// - A bias, or a sum, joins the matrix product that it is added to: the product starts from it.
// - Weights converted to bf16 for a product are rounded while the product packs them; the copy disappears.
// - Rows scattered into zeros and then added to a value are added to that value at once.
// - A loss whose gradient is wanted is computed together with it, while a row of logits is in the cache.
// - What is one number everywhere and only returned is made last, so that it can take its input's memory.
// - A sum over processes follows what it sums at once, so that it runs beside the calls after it.
#pragma once

#include "tensor/graph.h"

namespace bertrain {

// y = op(a) · op(b) (+ bias [N], may be absent) (+ into, may be absent). attrs transpose_a, transpose_b, compute (the
// dtype that operands are rounded to), dtype and shape of y. Axes before the last of `a` are rows where b has two axes.
extern const Op kProduct;
// Rows [..., W] added at ids [...] to zeros. attr shape of the result, f32.
extern const Op kScatterRows;

// softmax_cross_entropy and its gradient: logits, label, dloss → loss, lse, argmax, dlogits, which
// has the dtype of attr dtype.
extern const Op kCrossEntropyWithGrad;

Graph fuse(const Graph& expanded);

}  // namespace bertrain
