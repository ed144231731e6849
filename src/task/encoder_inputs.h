// The packer's slot fields as the encoder takes them.
#pragma once

#include "model/bert.h"
#include "task/task.h"

namespace bertrain {

inline Slots encoder_slots(const Inputs& batch) {
  return {batch.at("input_ids"), batch.at("segment_ids"), batch.at("position"),
          batch.at("example"),   batch.at("is_key"),      batch.at("number")};
}

}  // namespace bertrain
