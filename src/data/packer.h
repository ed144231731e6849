// Whole examples into micro-batches of fixed capacity: slots, examples, targets, without padding.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/array.h"
#include "data/placement/placement.h"
#include "data/streams.h"

namespace bertrain {

enum class Axis : uint8_t { slot, example, target, none };  // [R, S] | [E] | [M] | []

struct Field {
  DType dtype = DType::i32;  // or i64, u32, f32
  Axis axis = Axis::none;
  Shape rest;  // after the axis
};
using Schema = Named<Field>;  // the fields a task adds to those that the packer fills (below)

// Filled by the packer for every task:
//   slots    [R, S]  input_ids i32, segment_ids i32, position i32, example i32 (−1 empty),
//                    is_key i32, number u32
//   examples [E]     first_slot i32 (index into R·S), example_number u32,
//                    example_weight f32 (1 real, 0 filling)
//   targets  [M]     target_slot i32 (index into R·S)
// An Example given to the packer has int64 features input_ids, segment_ids (same length, any),
// target_positions (may be absent), and one feature for each field of the task's schema by its
// name: `target` fields as long as target_positions, `slot` fields as long as input_ids, `example`
// fields of one element, each times the product of rest; and, if it knows it, one int64 `row`: the
// input row that it is (part) of. Unused slots, examples and targets hold
// zeros, so weight 0. Numbers count within the global batch.
struct Batch {
  Capacity capacity;
  Named<Array> arrays;
  std::vector<int64_t> row;    // row[e]: of example e; without the feature, its place in the stream
  std::vector<Example> notes;  // notes[e]: its features that are in no array; may be empty
  int64_t tokens = 0;          // real slots
};

struct PackOptions {
  std::vector<Capacity> capacities;  // ascending; see placement.h
  // 0: packed. Else every example takes this many slots, as the reference's padded rows do; its
  // padding belongs to it, with id 0, segment 0 and is_key 0 (1 where padding_is_key).
  int64_t padded_length = 0;
  bool padding_is_key = false;
  bool keep_notes = false;
  int64_t replicas = 1;  // see place()
  // Of a rank's examples within the global batch: first_number, first_number + number_step, …
  uint32_t first_number = 0, number_step = 1;
};

// The micro-batches of one global batch, one replica's part each, in groups of `replicas` that run at
// once and have one capacity; a part may be empty. Example i has place first_row + i in the stream. Throws
// Error naming the row of an example that is too long for the largest capacity, or that lacks a
// feature or has it in the wrong length.
std::vector<Batch> pack(std::span<const Example> examples, const Schema& schema,
                        const PackOptions& options, int64_t first_row);

// One global batch = its micro-batches. `batch_size` examples each; the last one may be smaller.
using BatchStream = std::unique_ptr<Stream<std::vector<Batch>>>;
BatchStream batches(ExampleStream from, Schema schema, int64_t batch_size, PackOptions options);

// The sizes of the first `count` examples of a stream, for choose_capacities.
std::vector<ExampleSize> sample_sizes(Stream<Example>& from, size_t count,
                                      int64_t padded_length = 0);

// What share of the slots that were computed held no token.
class Waste {
 public:
  void add(const Batch& batch);
  double share() const;  // 0 … 1; 0 before any batch

 private:
  int64_t tokens_ = 0, slots_ = 0;
};

}  // namespace bertrain
