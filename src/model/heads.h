// What stands on the encoder: pooler, masked language model, next sentence, classifier, spans, tagger.
// Logits are f32 in every compute type.
#pragma once

#include "model/config.h"
#include "tensor/scope.h"

namespace bertrain {

// hidden [R, S, H], slot i32 [N] (index into R·S) → [N, H].
Tensor take_slots(Tensor hidden, Tensor slot);

// tanh(dense) of the first slot of each example: hidden [R, S, H], first_slot i32 [E] → [E, H].
// Parameters bert/pooler/dense/{kernel, bias}.
Tensor pooled_output(const Scope& root, const BertConfig& config, Tensor hidden, Tensor first_slot);

// Logits over the vocabulary at the target slots only, the word table as output matrix:
// hidden [R, S, H], target_slot i32 [M] → f32 [M, V]. Parameters
// cls/predictions/{transform/dense, transform/LayerNorm, output_bias}.
Tensor masked_lm_logits(const Scope& root, const BertConfig& config, Tensor hidden,
                        Tensor target_slot);

// pooled [E, H] → f32 [E, 2]; class 1 is "a random sentence follows". Parameters
// cls/seq_relationship/{output_weights [2, H], output_bias}.
Tensor next_sentence_logits(const Scope& root, const BertConfig& config, Tensor pooled);

struct ClassifierHead {
  int64_t classes = 2;   // outputs: classes, labels of a multi-label task, or 1 for regression
  double dropout = 0.1;  // of the pooled vector in training: fixed at 0.1 in Google's code,
                         // hidden_dropout_prob in TF 2's and Hugging Face's
};
// What the classifier looks at, [E, H]: BERT's pooled output. RoBERTa has a dense layer of the head's
// own in the pooler's place, with a dropout before it: parameters classifier/dense/{kernel, bias}.
Tensor classifier_input(const Scope& root, const BertConfig& config, const ClassifierHead& head,
                        Tensor hidden, Tensor first_slot, Tensor example_number);

// pooled [E, H], example_number u32 [E] → f32 [E, C]. Parameters output_weights [C, H], first
// values of deviation 0.02 whatever the config says, and output_bias [C].
Tensor classifier_logits(const Scope& root, const ClassifierHead& head, Tensor pooled,
                         Tensor example_number);

// Of each slot, how well an answer starts (0) and ends (1) there: hidden [R, S, H] → f32 [R·S, 2].
// Parameters cls/squad/{output_weights [2, H], output_bias}, first values of deviation 0.02 whatever
// the config says.
Tensor span_logits(const Scope& root, Tensor hidden);

// Logits of each target slot, after a dropout of its hidden vector: hidden [R, S, H], number u32 and
// position i32 [R, S] of the slots, target_slot i32 [M] → f32 [M, C]. Parameters output_weights [C, H]
// and output_bias [C], as a classifier's, in every family.
Tensor token_logits(const Scope& root, const BertConfig& config, const ClassifierHead& head,
                    Tensor hidden, Tensor number, Tensor position, Tensor target_slot);

}  // namespace bertrain
