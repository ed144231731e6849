// Files opened one after the other, each when it is reached.
#include "data/record_stream.h"

#include <optional>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "formats/tfrecord.h"

namespace bertrain {
namespace {

class Records final : public Stream<Example> {
 public:
  Records(std::vector<std::string> uris, RecordOptions options)
      : uris_(std::move(uris)), options_(std::move(options)) {}

  std::optional<Example> next() override {
    if (!advance()) return std::nullopt;
    Example example;
    try {
      example = parse_example(record_);
      if (options_.convert) example = options_.convert(std::move(example));
    } catch (const Error& e) {
      throw e.within(reader_->place());
    }
    example["row"] = std::vector<int64_t>{row_++};
    return example;
  }

  uint64_t skip(uint64_t count) override {
    uint64_t skipped = 0;
    while (skipped < count && advance()) {
      ++skipped;
      ++row_;
    }
    return skipped;
  }

 private:
  // Reads the next record into record_.
  bool advance() {
    for (;;) {
      if (!reader_) {
        if (file_ == uris_.size()) return false;
        if (!options_.first_rows.empty()) row_ = options_.first_rows.at(file_);
        reader_.emplace(uris_[file_++], options_.skip_corrupt);
      }
      if (reader_->next(record_)) return true;
      if (reader_->corrupt() > 0) {
        std::string line = fmt::format("{}: {} damaged stretches were passed over",
                                       uris_[file_ - 1], reader_->corrupt());
        if (!options_.told || options_.told->is_new(line)) log_warning(line);
      }
      reader_.reset();
    }
  }

  std::vector<std::string> uris_;
  RecordOptions options_;
  size_t file_ = 0;  // the next one to open
  std::optional<TfRecordReader> reader_;
  std::string record_;
  int64_t row_ = 0;
};

}  // namespace

ExampleStream read_records(std::vector<std::string> uris, RecordOptions options) {
  return std::make_unique<Records>(std::move(uris), std::move(options));
}

std::optional<FirstRecord> first_record(const std::string& uri, bool skip_corrupt) {
  TfRecordReader reader(uri, skip_corrupt);
  std::string record;
  if (!reader.next(record)) return std::nullopt;
  try {
    return FirstRecord{parse_example(record), reader.place()};
  } catch (const Error& e) {
    throw e.within(reader.place());
  }
}

}  // namespace bertrain
