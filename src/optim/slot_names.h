// What optimizers keep beside a parameter is called in checkpoints: "bert/pooler/dense/kernel/adam_m".
#pragma once

#include <string_view>

namespace bertrain {

// "bert/pooler/dense/kernel" of that name, whichever optimizer's slot it is (ours, and those of
// TensorFlow 1: Adam, Adam_1, Momentum); "" for what is no slot.
std::string_view slot_owner(std::string_view name);

}  // namespace bertrain
