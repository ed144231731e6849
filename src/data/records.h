// Pre-training examples as records of tf.Example: made from instances, and written to files all or none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/example.h"
#include "data/instances.h"
#include "storage/storage.h"

namespace bertrain {

struct RecordShape {
  int64_t max_seq_length = 128, max_predictions_per_seq = 20;
};

// The seven features of docs/formats/tfrecord.md, padded to the shape.
Example make_record(const Instances& instances, size_t index, const RecordShape& shape);

// The files that records go to in turn. They are opened at once, so that a place that cannot be written to is known
// before the work is done, and appear at the end, each whole, one after the other; an error takes those back.
class RecordFiles {
 public:
  RecordFiles(std::vector<std::string> uris, bool gzip);
  // Writes all instances, instance i to file i mod count, encoding on all cores. Throws if a file would get none.
  void write(const Instances& instances, const RecordShape& shape);

 private:
  void commit();
  std::vector<std::string> uris_;
  std::vector<std::unique_ptr<Writer>> writers_;
};

}  // namespace bertrain
