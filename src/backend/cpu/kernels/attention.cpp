// Attention example by example and head by head: small matrix products on scratch that stays in the private cache.
//
// One task is one (example, head). Its keys and values are packed once; queries are taken in blocks whose scores fit
// the cache. The backward pass computes the probabilities again from the stored log-sum-exp.
#include "backend/cpu/kernels/attention.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "backend/cpu/kernels/attention_rows.h"
#include "backend/cpu/kernels/elementwise.h"
#include "backend/cpu/kernels/gemm_kernel.h"
#include "backend/cpu/kernels/huge_buffer.h"
#include "base/first_failure.h"

namespace bertrain {
namespace {

constexpr int64_t kScoreBytes = int64_t{192} << 10;  // of one block of scores

int64_t round_up(int64_t x, int64_t to) { return (x + to - 1) / to * to; }

struct Range {  // the slots of one example: begin … begin + count − 1 of all R·S
  int64_t row, begin, count;
};

std::vector<Range> ranges_of(const Attention& a) {
  std::vector<Range> ranges;
  for (int64_t row = 0; row < a.rows; ++row) {
    const int32_t* example = a.example + row * a.slots;
    for (int64_t i = 0; i < a.slots;) {
      int64_t end = i + 1;
      while (end < a.slots && example[end] == example[i]) ++end;
      if (example[i] >= 0) ranges.push_back({row, row * a.slots + i, end - i});
      i = end;
    }
  }
  return ranges;
}

// One (example, head), with its scratch.
class Head {
 public:
  Head(const Attention& a, const GemmKernel& kernel, const Range& range, int64_t head)
      : a_(a),
        kernel_(kernel),
        range_(range),
        depth_(a.width / a.heads),
        offset_(range.begin * a.width + head * depth_),
        lse_at_((range.row * a.heads + head) * a.slots + range.begin - range.row * a.slots) {
    const int64_t keys = range.count;
    padded_ = round_up(keys, kernel.columns);
    stride_ = round_up(padded_, 32) + 16;  // an odd number of cache lines
    depth_stride_ = round_up(gemm_steps(kernel, depth_), 32) + 16;
    block_ = std::max(kScoreBytes / (stride_ * 4) / kernel.rows, int64_t{1}) * kernel.rows;
    block_ = std::min(block_, round_up(keys, kernel.rows));
    const int64_t depth_padded = round_up(depth_, kernel.columns);
    const int64_t key_steps = gemm_steps(kernel, keys), block_steps = gemm_steps(kernel, block_);
    const int64_t by_depth = padded_ * gemm_steps(kernel, depth_);
    const int64_t by_keys = depth_padded * key_steps;
    const int64_t by_block = depth_padded * block_steps;
    // What a forward or a backward pass needs, one after the other.
    const int64_t sizes[] = {by_depth,
                             by_depth,
                             by_keys,
                             by_block,
                             by_block,
                             block_ * depth_stride_,
                             block_ * stride_,
                             block_ * stride_,
                             block_ * stride_,
                             round_up(keys, kernel.rows) * (block_steps + 1),
                             keys * depth_padded,
                             keys * depth_padded,
                             padded_,
                             block_,
                             attention_bits(padded_) / 2 + 1};
    float** const pointers[] = {&keys_by_depth_,
                                &values_by_depth_,
                                &rows_by_key_,
                                &queries_by_block_,
                                &slopes_by_block_,
                                &queries_,
                                &scores_,
                                &score_slopes_,
                                &left_,
                                &left_turned_,
                                &dk_,
                                &dv_,
                                &bias_,
                                &dots_,
                                &bits_};
    int64_t total = 0;
    for (int64_t size : sizes) total += round_up(size, 16);
    float* next = scratch_of<float>(Scratch::attention, static_cast<size_t>(total));
    for (size_t i = 0; i < std::size(sizes); ++i)
      *pointers[i] = next, next += round_up(sizes[i], 16);

    block_of_.stride = stride_, block_of_.padded = padded_, block_of_.keys = keys;
    block_of_.scores = scores_;
    block_of_.scale = 1 / std::sqrt(static_cast<float>(depth_));
    exclude();
    if (a.dropout != nullptr) {
      block_of_.dropout = &a.dropout->source;
      block_of_.counter = a.dropout->number[range.begin] * static_cast<uint32_t>(a.heads) +
                          static_cast<uint32_t>(head);
      block_of_.key_position = a.dropout->position + range.begin;
      block_of_.adjacent = true;
      for (int64_t j = 1; j < keys; ++j) {
        if (block_of_.key_position[j] != block_of_.key_position[0] + j) block_of_.adjacent = false;
      }
      block_of_.bits = reinterpret_cast<uint16_t*>(bits_);
    }
  }

  // S = Q Kᵀ; P = softmax(S); Y = dropout(P) V
  void forward(void* y, float* lse) {
    pack_turned(a_.k, keys_by_depth_);
    pack(at(a_.v, 0), range_.count, rows_by_key_);
    for (int64_t q = 0; q < range_.count; q += block_) {
      const int64_t queries = start_block(q);
      soften(block_of_, lse + lse_at_ + q);
      multiply(by_row(scores_), queries, rows_by_key_, range_.count, depth_, at(y, q), a_.width,
               a_.dtype, false);
    }
  }

  // dV = dropout(P)ᵀ dY; dP = dY Vᵀ; dS = P (kept dP − dY·Y) / √D; dQ = dS K; dK = dSᵀ Q
  void backward(const void* y, const float* lse, const void* dy, void* dq, void* dk, void* dv) {
    pack_turned(a_.k, keys_by_depth_);
    pack_turned(a_.v, values_by_depth_);
    pack(at(a_.k, 0), range_.count, rows_by_key_);
    for (int64_t q = 0; q < range_.count; q += block_) {
      const int64_t queries = start_block(q);
      copy_rows(at(dy, q), queries);
      multiply({queries_, depth_stride_, kernel_.rows * depth_stride_, false}, queries,
               values_by_depth_, depth_, padded_, score_slopes_, stride_, DType::f32, false);
      row_dots(at(dy, q), at(y, q), a_.dtype, queries, depth_, a_.width, dots_);
      soften_grad(block_of_, lse + lse_at_ + q, dots_, score_slopes_);
      pack(at(a_.q, q), queries, queries_by_block_);
      pack(at(dy, q), queries, slopes_by_block_);
      const bool more = q > 0;
      multiply(by_column(scores_, queries), range_.count, slopes_by_block_, queries, depth_, dv_,
               depth_, DType::f32, more);
      multiply(by_column(score_slopes_, queries), range_.count, queries_by_block_, queries, depth_,
               dk_, depth_, DType::f32, more);
      multiply(by_row(score_slopes_), queries, rows_by_key_, range_.count, depth_, at(dq, q),
               a_.width, a_.dtype, false);
    }
    put(dk_, dk), put(dv_, dv);
  }

 private:
  struct Left {  // an operand A, in units
    const float* data;
    int64_t stride, panel;
    bool step_major;
  };

  // Element (slot q of the example, column 0 of the head).
  std::byte* at(void* x, int64_t q) const {
    return static_cast<std::byte*>(x) +
           (offset_ + q * a_.width) * static_cast<int64_t>(size_of(a_.dtype));
  }
  const std::byte* at(const void* x, int64_t q) const { return at(const_cast<void*>(x), q); }

  // The bias that takes out what is no key, where there is any.
  void exclude() {
    const int32_t* is_key = a_.is_key + range_.begin;
    const bool all = std::all_of(is_key, is_key + range_.count, [](int32_t k) { return k != 0; });
    if (all && padded_ == range_.count) return;
    for (int64_t j = 0; j < padded_; ++j) {
      const bool is = j < range_.count && is_key[j] != 0;
      bias_[j] = is ? 0 : -std::numeric_limits<float>::infinity();
    }
    block_of_.bias = bias_;
  }

  // Head columns of all slots as B [depth, keys].
  void pack_turned(const void* x, float* to) const {
    for (int64_t j = 0; j < range_.count; j += kernel_.columns) {
      kernel_.pack_transposed(at(x, j), a_.dtype, a_.width, depth_,
                              std::min(kernel_.columns, range_.count - j), kernel_.columns,
                              to + j * gemm_steps(kernel_, depth_));
    }
  }

  // Head columns of `count` slots as B [count, depth].
  void pack(const std::byte* x, int64_t count, float* to) const {
    kernel_.pack_strips(x, a_.dtype, a_.width, count, depth_, kernel_.columns, to,
                        kernel_.columns * gemm_steps(kernel_, count));
  }

  void copy_rows(const std::byte* x, int64_t count) const {
    kernel_.pack_rows(x, a_.dtype, a_.width, count, depth_, queries_, depth_stride_);
  }

  // Scores of the block of queries from q on; returns how many.
  int64_t start_block(int64_t q) {
    const int64_t queries = std::min(block_, range_.count - q);
    copy_rows(at(a_.q, q), queries);
    multiply({queries_, depth_stride_, kernel_.rows * depth_stride_, false}, queries,
             keys_by_depth_, depth_, padded_, scores_, stride_, DType::f32, false);
    block_of_.queries = queries;
    if (a_.dropout != nullptr) block_of_.query_position = a_.dropout->position + range_.begin + q;
    return queries;
  }

  // A block of scores [queries, keys] as A, and its transpose as A.
  Left by_row(float* scores) const {
    if (kernel_.pair == 1) return {scores, stride_, kernel_.rows * stride_, false};
    kernel_.pack_rows(scores, DType::f32, stride_, block_of_.queries, range_.count, left_, stride_);
    return {left_, stride_, kernel_.rows * stride_, false};
  }
  Left by_column(float* scores, int64_t queries) const {
    if (kernel_.pair == 1) return {scores, stride_, kernel_.rows, true};
    const int64_t steps = gemm_steps(kernel_, queries);
    kernel_.pack_strips(scores, DType::f32, stride_, queries, range_.count, kernel_.rows,
                        left_turned_, kernel_.rows * steps);
    return {left_turned_, kernel_.rows, kernel_.rows * steps, true};
  }

  void multiply(const Left& a, int64_t rows, const float* b, int64_t depth, int64_t columns,
                void* c, int64_t c_stride, DType c_dtype, bool accumulate) const {
    const int64_t steps = gemm_steps(kernel_, depth);
    for (int64_t j = 0; j < columns; j += kernel_.columns) {
      GemmTiles t;
      t.a = a.data, t.a_stride = a.stride, t.a_panel = a.panel, t.a_step_major = a.step_major;
      t.b = b + j * steps;
      t.rows = rows, t.columns = std::min(kernel_.columns, columns - j), t.steps = steps;
      t.c = static_cast<std::byte*>(c) + j * static_cast<int64_t>(size_of(c_dtype));
      t.c_stride = c_stride, t.c_bf16 = c_dtype == DType::bf16, t.accumulate = accumulate;
      kernel_.tiles(t);
    }
  }

  // [keys, depth] f32 into the columns of the head.
  void put(const float* from, void* to) const {
    for (int64_t j = 0; j < range_.count; ++j) {
      convert_here({from + j * depth_}, at(to, j), a_.dtype, depth_);
    }
  }

  const Attention& a_;
  const GemmKernel& kernel_;
  const Range range_;
  const int64_t depth_, offset_, lse_at_;
  int64_t padded_, stride_, depth_stride_, block_;
  float *keys_by_depth_, *values_by_depth_, *rows_by_key_, *queries_by_block_, *slopes_by_block_;
  float *queries_, *scores_, *score_slopes_, *left_, *left_turned_, *dk_, *dv_, *bias_, *dots_,
      *bits_;
  ScoreBlock block_of_;
};

const GemmKernel& kernel_for(DType dtype) {
  const GemmKernel* bf16 = dtype == DType::bf16 ? gemm_kernel_bf16() : nullptr;
  return bf16 != nullptr ? *bf16 : gemm_kernel_f32();
}

// f(Head&) for every (example, head). Each thread has a stretch of equal cost, in the order of the
// slots, so that it finds most of what it reads in its own cache.
template <class F>
void each_head(const Attention& a, const F& f) {
  const GemmKernel& kernel = kernel_for(a.dtype);
  const std::vector<Range> ranges = ranges_of(a);
  const auto cost_of = [](const Range& r) {
    return static_cast<double>(r.count) * static_cast<double>(r.count + 64);
  };
  double total = 0;
  for (const Range& range : ranges) total += cost_of(range) * static_cast<double>(a.heads);
  FirstFailure failure;  // of scratch
#pragma omp parallel
  failure.run([&] {
    const int threads = omp_get_num_threads(), mine = omp_get_thread_num();
    double done = 0;  // cost of the tasks before this one
    for (const Range& range : ranges) {
      const double cost = cost_of(range);
      for (int64_t h = 0; h < a.heads; ++h, done += cost) {
        const double place = (done + cost / 2) / total;  // of the task's middle, in (0, 1)
        if (std::min(static_cast<int>(place * threads), threads - 1) != mine) continue;
        Head head(a, kernel, range, h);
        f(head);
      }
    }
  });
  failure.rethrow();
}

void clear_empty(const Attention& a, void* x) {
  const size_t bytes = static_cast<size_t>(a.width) * size_of(a.dtype);
  for (int64_t i = 0; i < a.rows * a.slots; ++i) {
    if (a.example[i] < 0)
      std::memset(static_cast<std::byte*>(x) + i * static_cast<int64_t>(bytes), 0, bytes);
  }
}

}  // namespace

void attention(const Attention& a, void* y, float* lse) {
  each_head(a, [&](Head& head) { head.forward(y, lse); });
  clear_empty(a, y);
  for (int64_t i = 0; i < a.rows * a.slots; ++i) {
    if (a.example[i] >= 0) continue;
    for (int64_t h = 0; h < a.heads; ++h) {
      lse[(i / a.slots * a.heads + h) * a.slots + i % a.slots] = 0;
    }
  }
}

void attention_grad(const Attention& a, const void* y, const float* lse, const void* dy, void* dq,
                    void* dk, void* dv) {
  each_head(a, [&](Head& head) { head.backward(y, lse, dy, dq, dk, dv); });
  clear_empty(a, dq), clear_empty(a, dk), clear_empty(a, dv);
}

}  // namespace bertrain
