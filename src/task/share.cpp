// Counts, and a sentence for each of them.
#include "task/share.h"

#include <utility>

#include "base/error.h"
#include "base/log.h"

namespace bertrain {

RowDraw::RowDraw(std::string file, std::string row, double held_out, double trained)
    : file_(std::move(file)),
      row_(std::move(row)),
      held_out_share_(held_out),
      trained_share_(trained) {}

RowDraw::Part RowDraw::part_of(std::string_view text) {
  if (is_in_share(text, held_out_share_, Draw::held_out)) {
    ++held_out_;
    return Part::held_out;
  }
  if (is_in_share(text, trained_share_, Draw::trained)) {
    ++trained_;
    return Part::trained;
  }
  ++left_out_;
  return Part::left_out;
}

void RowDraw::require_rows() const {
  if (left_out_ > 0) {
    log_line("{}: {} {}s are left out (--train_fraction={})", file_, left_out_, row_,
             trained_share_);
  }
  if (trained_ > 0) return;
  if (held_out_ + left_out_ == 0) throw error("{}: there is no {} to train on", file_, row_);
  throw usage_error(
      "{}: no {} is left to train on: --dev_fraction={} holds out {}, and --train_fraction={} "
      "leaves out {}; other shares are expected",
      file_, row_, held_out_share_, held_out_, trained_share_, left_out_);
}

void RowDraw::report_held_out() const {
  if (held_out_ > 0) {
    log_line("{}: {} {}s are held out to evaluate on (--dev_fraction={}), {} are trained on", file_,
             held_out_, row_, held_out_share_, trained_);
  } else if (held_out_share_ > 0) {
    log_warning("{}: no {} of so few was held out, so nothing is evaluated while training", file_,
                row_);
  }
}

}  // namespace bertrain
