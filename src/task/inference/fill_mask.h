// What a pre-trained model puts in the place of [MASK], for lines of text.
#pragma once

#include <memory>
#include <string>

#include "model/config.h"
#include "task/task.h"
#include "text/tokenizer.h"

namespace bertrain {

inline constexpr int64_t kMostMasks = 64;  // of one text: each has a number for every piece

struct FillMaskOptions {
  std::string
      input_file;  // a text a line; "-" is standard input, whose examples can be asked for once
  std::string invalid_utf8 = "error";
  int64_t top_k = 5;
  int64_t max_seq_length = 0;  // longer texts are cut; 0: the model's positions
};

// Split: test. In a text [MASK] is the piece, whatever the tokenizer's options say.
// Schema: mask_weights f32 [M]. Predictions: masked_lm_logits f32 [M, V]. There is no loss.
// Rows: `text`; for each mask, one after the other, the top_k likeliest pieces: `token`, `token_id`,
// `probability` and `logit`, likeliest first, of equal ones the lower id; `kept` of them a mask. A text of more than kMostMasks is
// an Error that names file and line; texts without a mask, and masks that were cut off, are counted
// and said.
std::unique_ptr<Task> make_fill_mask(const FillMaskOptions& options, const BertConfig& config,
                                     const Tokenizer& tokenizer);

}  // namespace bertrain
