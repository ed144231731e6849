// Whole examples into micro-batches of fixed capacity: slots, examples, targets, without padding.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/streams.h"

namespace bertrain {

enum class Axis : uint8_t { slot, example, target, none };  // [R, S] | [E] | [M] | []

struct Field {
  DType dtype = DType::i32;
  Axis axis = Axis::none;
  Shape rest;  // after the axis
};
using Schema = Named<Field>;  // the fields a task adds to those that the packer fills (below)

// Filled by the packer for every task:
//   slots    [R, S]  input_ids i32, segment_ids i32, position i32, example i32 (−1 empty), is_key
//   i32, number u32 examples [E]     first_slot i32 (index into R·S), example_number u32,
//   example_weight f32 (1 real, 0 filling) targets  [M]     target_slot i32 (index into R·S)
// An Example given to the packer has int64 features input_ids, segment_ids (same length, any),
// target_positions (may be absent), and one feature for each field of the task's schema by its
// name: `target` fields as long as target_positions, `example` fields of one element (or the
// product of rest). Unused examples and targets hold zeros, so weight 0. Numbers count within the
// global batch.
struct Capacity {
  int64_t rows = 1, slots = 0, examples = 0,
          targets = 0;  // per replica: the shape of one program; targets 0: no such axis
  bool operator==(const Capacity&) const = default;
};

struct Batch {
  Capacity capacity;
  Named<Array> arrays;
  std::vector<int64_t> row;  // row[e]: the input row (place in the stream) that example e came from
  int64_t tokens = 0;        // real slots
};

}  // namespace bertrain
