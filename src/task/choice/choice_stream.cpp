// Chunks of rows, tokenized side by side and taken in order.
#include "task/choice/choice_stream.h"

#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "data/chunked_stream.h"
#include "task/choice/choice_data.h"

namespace bertrain {
namespace {

constexpr size_t kChunk = 1024;  // rows: enough to keep the cores busy, few to hold

class AsRead final : public ChunkedStream {
 public:
  AsRead(std::unique_ptr<ChoiceRowReader> reader, std::shared_ptr<const PairEncoder> encoder,
         int64_t places, std::shared_ptr<ToldOnce> told, size_t chunk)
      : reader_(std::move(reader)),
        encoder_(std::move(encoder)),
        places_(places),
        told_(std::move(told)),
        chunk_(chunk) {}

  uint64_t skip(uint64_t count) override {
    uint64_t skipped = drop_ready(count);
    ChoiceRow row;
    for (; skipped < count && reader_->next(row); ++skipped) ++row_;
    return skipped;
  }

 private:
  bool fill(std::deque<Example>& ready) override {
    if (ended_) return false;
    std::vector<ChoiceRow> rows;
    ChoiceRow row;
    while (rows.size() < chunk_ && reader_->next(row)) rows.push_back(std::move(row));
    std::vector<PairInput> inputs = encode_choices(rows, *encoder_);
    std::vector<ChoicePart> parts;
    for (const PairInput& input : inputs) {
      parts.push_back({input.ids, input.first});
      cut_ += input.cut > 0;
    }
    choices_ += inputs.size();
    auto each = static_cast<size_t>(reader_->choices());
    for (size_t i = 0; i < rows.size(); ++i) {
      ready.push_back(choice_example(std::span(parts).subspan(i * each, each), places_,
                                     rows[i].label, rows[i].id, row_++));
    }
    if (rows.empty()) end();
    return !rows.empty();
  }

  void end() {
    ended_ = true;
    if (!told_->is_new(reader_->uri())) return;
    reader_->report();
    if (cut_ > 0) log_line("{}: {} of {} choices were cut", reader_->uri(), cut_, choices_);
  }

  std::unique_ptr<ChoiceRowReader> reader_;
  std::shared_ptr<const PairEncoder> encoder_;
  int64_t places_;
  std::shared_ptr<ToldOnce> told_;
  size_t chunk_;
  int64_t row_ = 0;
  uint64_t cut_ = 0, choices_ = 0;
  bool ended_ = false;
};

}  // namespace

ExampleStream stream_choices(std::unique_ptr<ChoiceRowReader> reader,
                             std::shared_ptr<const PairEncoder> encoder, int64_t places,
                             std::shared_ptr<ToldOnce> told, bool one_by_one) {
  return std::make_unique<AsRead>(std::move(reader), std::move(encoder), places, std::move(told),
                                  one_by_one ? 1 : kChunk);
}

}  // namespace bertrain
