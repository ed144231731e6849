// Ranges, each with a message of its own.
#include "task/data_options.h"

#include "base/error.h"

namespace bertrain {

void check_data_options(const DataOptions& o, int64_t positions) {
  if (!(o.train_fraction > 0 && o.train_fraction <= 1)) {
    throw usage_error("--train_fraction={}: a share above 0, and at most 1, expected",
                      o.train_fraction);
  }
  if (o.limit < 0) throw usage_error("--limit={}: 0 or more expected", o.limit);
  if (o.max_seq_length > positions) {
    throw usage_error("--max_seq_length={} is beyond the model's {} positions", o.max_seq_length,
                      positions);
  }
}

void check_dev_fraction(double share) {
  if (share >= 0 && share < 1) return;
  throw usage_error("--dev_fraction={}: a share from 0 to below 1 expected", share);
}

void check_classifier_dropout(double rate) {
  if (rate >= 0 && rate <= kMostClassifierDropout) return;
  throw usage_error("--classifier_dropout={}: a share from 0 to {} expected", rate,
                    kMostClassifierDropout);
}

}  // namespace bertrain
