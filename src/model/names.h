// What parameters are called elsewhere: Google's names (ours) ↔ Hugging Face's of BERT and RoBERTa.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "model/config.h"

namespace bertrain {

// "bert/encoder/layer_0/attention/self/query/kernel" →
// "bert.encoder.layer.0.attention.self.query.weight". "" for what Hugging Face has no name for
// (optimizer slots, counters).
std::string to_hugging_face(std::string_view name);
// The same of a RoBERTa, whose encoder is "roberta." there and whose heads have other names.
std::string to_hugging_face_roberta(std::string_view name);
// `of_tokens`: of a tagger, whose output layer has one name in both families.
std::function<std::string(std::string_view)> to_hugging_face_of(Family family,
                                                                bool of_tokens = false);

// The way back. Prefixes that wrappers add ("module.") are taken off, encoders saved without their
// head ("encoder.layer.0…") get theirs, and LayerNorm's gamma and beta are known as well as weight
// and bias. "" for what repeats another tensor or is no parameter (the tied output matrix,
// position_ids). A name that is not Hugging Face's is returned as it is.
std::string from_hugging_face(std::string_view name);

// Whether the tensor of that name (ours) is the transpose of Hugging Face's: kernels are [in, out],
// weights [out, in]. The heads' output_weights are [out, in] in both.
bool is_kernel(std::string_view name);

// Whether these are the names of a Hugging Face model.
bool are_hugging_face(const std::vector<std::string>& names);

}  // namespace bertrain
