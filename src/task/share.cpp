// What is said of rows that were drawn.
#include "task/share.h"

#include "base/error.h"
#include "base/log.h"

namespace bertrain {

void require_trained_rows(const DrawnRows& drawn) {
  if (drawn.left_out > 0) {
    log_line("{}: {} {}s are left out (--train_fraction={})", drawn.file, drawn.left_out, drawn.row,
             drawn.train_fraction);
  }
  if (drawn.trained > 0) return;
  throw usage_error(
      "{}: no {} is left to train on: --dev_fraction={} holds out {}, and --train_fraction={} "
      "leaves "
      "out {}; other shares are expected",
      drawn.file, drawn.row, drawn.dev_fraction, drawn.held_out, drawn.train_fraction,
      drawn.left_out);
}

void report_held_out(const DrawnRows& drawn) {
  if (drawn.dev_fraction <= 0) return;
  if (drawn.held_out == 0) {
    return log_warning("{}: no {} of so few was held out, so nothing is evaluated while training",
                       drawn.file, drawn.row);
  }
  log_line("{}: {} {}s are held out to evaluate on (--dev_fraction={}), {} are trained on",
           drawn.file, drawn.held_out, drawn.row, drawn.dev_fraction, drawn.trained);
}

}  // namespace bertrain
