// Chunks of rows, tokenized side by side and taken in order.
#include "task/table/text_data.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "base/error.h"
#include "base/first_failure.h"
#include "base/log.h"

namespace bertrain {
namespace {

constexpr size_t kChunk = 4096;  // rows: enough to keep the cores busy, few to hold

std::vector<PairInput> encode_all(const PairEncoder& encoder, const std::vector<TextRow>& rows) {
  std::vector<PairInput> inputs(rows.size());
  FirstFailure failure;
#pragma omp parallel for schedule(dynamic, 16) if (rows.size() > 64)
  for (size_t i = 0; i < rows.size(); ++i) {
    failure.run([&] { inputs[i] = encoder.encode(rows[i].text, rows[i].text_b); });
  }
  failure.rethrow();
  return inputs;
}

std::vector<TextRow> read_chunk(TextRowReader& reader, size_t count) {
  std::vector<TextRow> rows;
  TextRow row;
  while (rows.size() < count && reader.next(row)) rows.push_back(std::move(row));
  return rows;
}

class InMemory final : public IndexedStream {
 public:
  explicit InMemory(std::shared_ptr<const TextData> data) : data_(std::move(data)) {}
  uint64_t size() const override { return data_->size(); }
  Example at(uint64_t index) const override { return data_->example(index); }

 private:
  std::shared_ptr<const TextData> data_;
};

class AsRead final : public Stream<Example> {
 public:
  AsRead(std::unique_ptr<TextRowReader> reader, std::shared_ptr<const PairEncoder> encoder,
         std::shared_ptr<const TextTarget> target, std::shared_ptr<ToldOnce> told, size_t chunk)
      : reader_(std::move(reader)),
        encoder_(std::move(encoder)),
        target_(std::move(target)),
        told_(std::move(told)),
        chunk_(chunk) {}

  std::optional<Example> next() override {
    if (ready_.empty() && !fill()) return std::nullopt;
    Example example = std::move(ready_.front());
    ready_.pop_front();
    return example;
  }

  uint64_t skip(uint64_t count) override {
    uint64_t skipped = std::min<uint64_t>(count, ready_.size());
    ready_.erase(ready_.begin(), ready_.begin() + static_cast<int64_t>(skipped));
    TextRow row;
    for (; skipped < count && reader_->next(row); ++skipped) ++row_;
    return skipped;
  }

 private:
  bool fill() {
    if (ended_) return false;
    std::vector<TextRow> rows = read_chunk(*reader_, chunk_);
    std::vector<PairInput> inputs = encode_all(*encoder_, rows);
    for (size_t i = 0; i < rows.size(); ++i) {
      const PairInput& input = inputs[i];
      Example example;
      add_input(example, input.ids.data(), input.ids.size(), input.first);
      const RowLabel* label = rows[i].label ? &*rows[i].label : nullptr;
      // An empty one says that it is not known.
      if (label && label->is_empty() && !target_->may_be_empty()) label = nullptr;
      unknown_ += label && !target_->fault(*label).empty();
      target_->put(example, label);
      if (!rows[i].id.empty()) example["id"] = std::vector<std::string>{rows[i].id};
      example["row"] = std::vector<int64_t>{row_++};
      cut_ += input.cut > 0;
      ready_.push_back(std::move(example));
    }
    if (rows.empty()) end();
    return !rows.empty();
  }

  void end() {
    ended_ = true;
    const std::string& uri = reader_->rows().uri();
    if (!told_->is_new(uri)) return;
    reader_->report();
    if (cut_ > 0) log_line("{}: {} of {} texts were cut to the model's length", uri, cut_, row_);
    if (unknown_ > 0) {
      log_line("{}: {} rows have a label that the model does not know; it is left out", uri,
               unknown_);
    }
  }

  std::unique_ptr<TextRowReader> reader_;
  std::shared_ptr<const PairEncoder> encoder_;
  std::shared_ptr<const TextTarget> target_;
  std::shared_ptr<ToldOnce> told_;
  size_t chunk_;
  std::deque<Example> ready_;
  int64_t row_ = 0;
  uint64_t cut_ = 0, unknown_ = 0;
  bool ended_ = false;
};

}  // namespace

void TextData::add(const PairInput& input, TextRow row) {
  ids_.insert(ids_.end(), input.ids.begin(), input.ids.end());
  end_.push_back(ids_.size());
  first_.push_back(input.first);
  line_.push_back(row.line);
  labels_.push_back(std::move(row.label).value_or(""));
  row_ids_.push_back(std::move(row.id));
  cut_rows_ += input.cut > 0;
  longest_ = std::max<uint64_t>(longest_, input.ids.size() + input.cut);
}

void TextData::set_target(std::shared_ptr<const TextTarget> target) {
  for (uint64_t i = 0; i < size(); ++i) {
    std::string fault = target->fault(labels_[i]);
    if (!fault.empty()) throw error("{}:{}: {}", name_, line_[i], fault);
  }
  target_ = std::move(target);
}

Example TextData::example(uint64_t index) const {
  check(target_ != nullptr, "labels mean something before rows are taken");
  Example example;
  uint64_t begin = index == 0 ? 0 : end_[index - 1];
  add_input(example, ids_.data() + begin, end_.at(index) - begin, first_[index]);
  target_->put(example, &labels_[index]);
  example["row"] = std::vector<int64_t>{static_cast<int64_t>(index)};
  if (!row_ids_[index].empty()) example["id"] = std::vector<std::string>{row_ids_[index]};
  return example;
}

void TextData::report() const {
  double rows = static_cast<double>(std::max<uint64_t>(size(), 1));
  double mean = static_cast<double>(ids_.size()) / rows;
  log_line("{}: {} rows, {:.1f} tokens each; {} ({:.1f} %) were cut, the longest has {}", name_,
           size(), mean, cut_rows_, 100.0 * static_cast<double>(cut_rows_) / rows, longest_);
}

ExampleStream stream(std::shared_ptr<const TextData> data) {
  return std::make_unique<InMemory>(std::move(data));
}

void load_texts(TextRowReader& reader, const PairEncoder& encoder, int64_t most,
                const std::function<void(PairInput input, TextRow row)>& take) {
  uint64_t left = most > 0 ? static_cast<uint64_t>(most) : UINT64_MAX;
  for (;;) {
    std::vector<TextRow> rows = read_chunk(reader, std::min<uint64_t>(kChunk, left));
    if (rows.empty()) break;
    left -= rows.size();
    std::vector<PairInput> inputs = encode_all(encoder, rows);
    for (size_t i = 0; i < rows.size(); ++i) take(std::move(inputs[i]), std::move(rows[i]));
  }
  reader.report();
}

ExampleStream stream_texts(std::unique_ptr<TextRowReader> reader,
                           std::shared_ptr<const PairEncoder> encoder,
                           std::shared_ptr<const TextTarget> target, std::shared_ptr<ToldOnce> told,
                           bool one_by_one) {
  return std::make_unique<AsRead>(std::move(reader), std::move(encoder), std::move(target),
                                  std::move(told), one_by_one ? 1 : kChunk);
}

}  // namespace bertrain
