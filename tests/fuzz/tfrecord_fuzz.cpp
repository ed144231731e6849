// Any bytes as a file of records, as one record, and as the payload of a record that is framed right.
#include "data/example.h"
#include "formats/tfrecord.h"
#include "fuzz_input.h"

namespace bertrain {
namespace {

void read_all(bool skip_corrupt) {
  TfRecordReader reader(kFuzzed, skip_corrupt);
  std::string record;
  while (reader.next(record)) parse_example(record);
}

void fuzz(std::string_view input) {
  for (bool skip_corrupt : {false, true}) {
    write_text(kFuzzed, input);
    refusing([&] { read_all(skip_corrupt); });
  }
  write_text(kFuzzed, frame_record(input));
  refusing([&] { read_all(false); });
  refusing([&] {
    std::string written = serialize_example(parse_example(input));
    check(serialize_example(parse_example(written)) == written, "an example is read as written");
  });
}

}  // namespace
}  // namespace bertrain

BERTRAIN_FUZZ(bertrain::fuzz)
