// Values that change place: broadcasts, rows gathered from tables and added to them, sums over axes.
#include <algorithm>
#include <cstring>

#include "backend/cpu/fuse.h"
#include "backend/cpu/kernels/embedding.h"
#include "backend/cpu/kernels/parallel.h"
#include "backend/cpu/kernels/sums.h"
#include "backend/cpu/lowering.h"
#include "base/error.h"
#include "tensor/ops/op_table.h"

namespace bertrain {
namespace {

constexpr int64_t kChunk =
    16384;  // elements: below this, starting threads costs more than it saves

bool is_float(DType type) { return type == DType::f32 || type == DType::bf16; }

// A broadcast is [before] × x × [after] where x's axes are adjacent in the result and nothing stretches.
struct Spread {
  int64_t before = 1, middle = 1, after = 1;
  bool simple = true;
};
Spread spread_of(const Node& node) {
  Spread s;
  const Shape &x = node.inputs[0].shape(), &y = node.outputs[0].shape;
  const std::vector<int64_t>& axes = node.list("axes");
  for (size_t i = 0; i < axes.size(); ++i) {
    bool adjacent = i == 0 || axes[i] == axes[i - 1] + 1;
    s.simple = s.simple && adjacent && x[i] == y[static_cast<size_t>(axes[i])];
  }
  size_t first = axes.empty() ? y.size() : static_cast<size_t>(axes.front());
  for (size_t i = 0; i < first; ++i) s.before *= y[i];
  s.middle = elements(x);
  for (size_t i = first + axes.size(); i < y.size(); ++i) s.after *= y[i];
  return s;
}

bool takes_broadcast(const Node& node) {
  return size_of(node.outputs[0].dtype) == 4 && spread_of(node).simple;
}

Call prepare_broadcast(const Binding& b) {
  Spread s = spread_of(b.node);
  return [s, in = b.inputs[0], out = b.outputs[0]](const Addresses& at) {
    const uint32_t* x = at.get<uint32_t>(in);
    uint32_t* y = at.get<uint32_t>(out);
    if (s.middle == 1) {
      parallel_chunks(s.before * s.after, kChunk,
                      [&](int64_t begin, int64_t end) { std::fill(y + begin, y + end, *x); });
      return;
    }
    for (int64_t i = 0; i < s.before; ++i) {
      for (int64_t j = 0; j < s.middle; ++j, y += s.after) std::fill(y, y + s.after, x[j]);
    }
  };
}

void demand_ids(const int32_t* ids, int64_t count, int64_t rows) {
  for (int64_t i = 0; i < count; ++i) {
    if (ids[i] < 0 || ids[i] >= rows) {
      throw error("id {} at place {} is outside the table's {} rows", ids[i], i, rows);
    }
  }
}

int64_t row_width(const ArrayType& table) {
  return table.shape[0] == 0 ? 0 : elements(table.shape) / table.shape[0];
}

Call prepare_gather(const Binding& b) {
  int64_t rows = b.in(0).shape[0], count = elements(b.in(1).shape);
  int64_t row_bytes = row_width(b.in(0)) * static_cast<int64_t>(size_of(b.in(0).dtype));
  return [=, in = b.inputs, out = b.outputs[0]](const Addresses& at) {
    const int32_t* ids = at.get<int32_t>(in[1]);
    demand_ids(ids, count, rows);
    if (row_bytes > 0) gather_rows(at.get<void>(in[0]), ids, count, row_bytes, at.get<void>(out));
  };
}

bool takes_scatter(const Node& node) {
  return node.inputs[0].dtype() == DType::f32 && is_float(node.inputs[2].dtype());
}

Call prepare_scatter(const Binding& b) {
  int64_t rows = b.in(0).shape[0], count = elements(b.in(1).shape), width = row_width(b.in(0));
  return [=, type = b.in(2).dtype, in = b.inputs, out = b.outputs[0]](const Addresses& at) {
    const int32_t* ids = at.get<int32_t>(in[1]);
    demand_ids(ids, count, rows);
    const float* table = at.get<float>(in[0]);
    float* y = at.get<float>(out);
    if (y != table && rows * width > 0) {
      std::memcpy(y, table, static_cast<size_t>(rows * width) * sizeof(float));
    }
    scatter_add_rows(at.get<void>(in[2]), type, ids, count, width, y);
  };
}

// The same into zeros.
Call prepare_scatter_rows(const Binding& b) {
  int64_t rows = b.out(0).shape[0], count = elements(b.in(0).shape), width = row_width(b.out(0));
  return [=, type = b.in(1).dtype, in = b.inputs, out = b.outputs[0]](const Addresses& at) {
    const int32_t* ids = at.get<int32_t>(in[0]);
    demand_ids(ids, count, rows);
    float* y = at.get<float>(out);
    parallel_chunks(rows * width, kChunk,
                    [&](int64_t begin, int64_t end) { std::fill(y + begin, y + end, 0.0F); });
    scatter_add_rows(at.get<void>(in[1]), type, ids, count, width, y);
  };
}

// The axes that vanish are the first ones (sums down columns), or the last ones (sums along rows).
struct Reduced {
  int64_t rows = 1, columns = 1;
  bool down = true, simple = false;
};
Reduced reduced_of(const Node& node) {
  Reduced r;
  const Shape& x = node.inputs[0].shape();
  const std::vector<int64_t>& axes = node.list("axes");
  auto starts_at = [&](size_t first) {
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i] != static_cast<int64_t>(first + i)) return false;
    }
    return true;
  };
  bool along = starts_at(x.size() - axes.size());  // also where all axes vanish
  r.down = !along;
  r.simple = along || starts_at(0);
  size_t cut = along ? x.size() - axes.size() : axes.size();
  for (size_t i = 0; i < x.size(); ++i) (i < cut ? r.rows : r.columns) *= x[i];
  return r;
}

bool takes_reduce(const Node& node) {
  return is_float(node.inputs[0].dtype()) && node.outputs[0].dtype == DType::f32 &&
         reduced_of(node).simple;
}

Call prepare_reduce_sum(const Binding& b) {
  Reduced r = reduced_of(b.node);
  return [r, type = b.in(0).dtype, in = b.inputs[0], out = b.outputs[0]](const Addresses& at) {
    (r.down ? column_sums : row_sums)(at.get<void>(in), type, r.rows, r.columns,
                                      at.get<float>(out));
  };
}

// The part of this process; the program adds the others'.
Call prepare_all_reduce(const Binding& b) {
  return [bytes = static_cast<size_t>(elements(b.out(0).shape)) * sizeof(float), in = b.inputs[0],
          out = b.outputs[0]](const Addresses& at) {
    const std::byte* x = at.get<std::byte>(in);
    std::byte* y = at.get<std::byte>(out);
    if (x != y && bytes > 0) std::memcpy(y, x, bytes);
  };
}

const Lowering kLowerings[] = {
    {&kAllReduceSum, all_f32, prepare_all_reduce, {{0, 0}}},
    {&kBroadcast, takes_broadcast, prepare_broadcast},
    {&kGatherRows, nullptr, prepare_gather},
    {&kScatterAddRows, takes_scatter, prepare_scatter, {{0, 0}}},
    {&kScatterRows, nullptr, prepare_scatter_rows},
    {&kReduceSum, takes_reduce, prepare_reduce_sum},
};

}  // namespace

std::span<const Lowering> move_lowerings() { return kLowerings; }

}  // namespace bertrain
