// Slots of an example as a row of their own, however the rows of the batch are cut.
#include "task/squad/span_loss.h"

#include "tensor/ops/ops.h"

namespace bertrain {

Spans spans(Tensor logits, Tensor example, Tensor first_slot, int64_t length, Tensor start,
            Tensor end) {
  Graph& graph = logits.graph();
  int64_t slots = logits.extent(0), examples = first_slot.extent(0);
  Shape shape = {examples, length};
  // An example's slots are adjacent, so the rest of its row here is others' or beyond the last slot.
  Tensor slot = broadcast_last(first_slot, length) + iota(graph, shape, 1, DType::i32);
  Tensor last = full(graph, shape, static_cast<double>(slots - 1), DType::i32);
  Tensor is_there = compare(slot, last, Compare::less_equal);
  slot = select(is_there, slot, last);
  Tensor is_own = compare(gather_rows(reshape(example, {slots}), slot),
                          iota(graph, shape, 0, DType::i32), Compare::equal);
  Tensor none = full(graph, shape, kNoSlot);
  Tensor both = gather_rows(logits, slot);  // [E, length, 2]
  auto side = [&](int64_t k) {
    Tensor one = reshape(slice(both, {0, 0, k}, {examples, length, k + 1}), shape);
    return select(is_there, select(is_own, one, none), none);
  };
  Spans spans;
  spans.start_logits = side(0);
  spans.end_logits = side(1);
  spans.loss = (softmax_cross_entropy(spans.start_logits, start).loss +
                softmax_cross_entropy(spans.end_logits, end).loss) *
               0.5;
  return spans;
}

}  // namespace bertrain
