// Chunks of rows, tokenized side by side and taken in order.
#include "task/table/text_data.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "base/error.h"
#include "base/first_failure.h"
#include "base/log.h"
#include "data/chunked_stream.h"

namespace bertrain {
namespace {

constexpr size_t kChunk = 4096;  // rows: enough to keep the cores busy, few to hold

std::vector<EncodedText> encode_all(const LongTextEncoder& encoder,
                                    const std::vector<TextRow>& rows, const std::string& uri) {
  std::vector<EncodedText> texts(rows.size());
  FirstFailure failure;
  auto encode = [&](size_t i) {
    try {
      texts[i] = encoder.encode(rows[i].text, rows[i].text_b);
    } catch (const Error& e) {
      throw error("{}:{}: {}", uri, rows[i].line, e.what());
    }
  };
#pragma omp parallel for schedule(dynamic, 16) if (rows.size() > 64)
  for (size_t i = 0; i < rows.size(); ++i) {
    failure.run([&] { encode(i); });
  }
  failure.rethrow();
  return texts;
}

void add_window(Example& example, size_t index, size_t count) {
  if (count == 1) return;
  example["window"] =
      std::vector<int64_t>{static_cast<int64_t>(index), static_cast<int64_t>(count)};
}

std::vector<TextRow> read_chunk(TextRowReader& reader, size_t count) {
  std::vector<TextRow> rows;
  TextRow row;
  while (rows.size() < count && reader.next(row)) rows.push_back(std::move(row));
  return rows;
}

class AsRead final : public ChunkedStream {
 public:
  AsRead(std::unique_ptr<TextRowReader> reader, std::shared_ptr<const LongTextEncoder> encoder,
         std::shared_ptr<const TextTarget> target, std::shared_ptr<ToldOnce> told, size_t chunk)
      : reader_(std::move(reader)),
        encoder_(std::move(encoder)),
        target_(std::move(target)),
        told_(std::move(told)),
        chunk_(chunk),
        lengths_(encoder_->how()) {}

  uint64_t skip(uint64_t count) override {
    // How many examples a row has is known from its pieces alone.
    if (encoder_->how() == LongText::windows) return ChunkedStream::skip(count);
    uint64_t skipped = drop_ready(count);
    TextRow row;
    for (; skipped < count && reader_->next(row); ++skipped) ++row_;
    return skipped;
  }

 private:
  bool fill(std::deque<Example>& ready) override {
    if (ended_) return false;
    std::vector<TextRow> rows = read_chunk(*reader_, chunk_);
    std::vector<EncodedText> texts = encode_all(*encoder_, rows, reader_->rows().uri());
    for (size_t i = 0; i < rows.size(); ++i) {
      Example example;
      const RowLabel* label = rows[i].label ? &*rows[i].label : nullptr;
      // An empty one says that it is not known.
      if (label && label->is_empty() && !target_->may_be_empty()) label = nullptr;
      unknown_ += label && !target_->fault(*label).empty();
      target_->put(example, label);
      if (!rows[i].id.empty()) example["id"] = std::vector<std::string>{rows[i].id};
      example["row"] = std::vector<int64_t>{row_++};
      lengths_.add(texts[i]);
      const std::vector<PairInput>& inputs = texts[i].inputs;
      for (size_t w = 0; w < inputs.size(); ++w) {
        Example& window = ready.emplace_back(example);
        add_input(window, inputs[w].ids.data(), inputs[w].ids.size(), inputs[w].first);
        add_window(window, w, inputs.size());
      }
    }
    if (rows.empty()) end();
    return !rows.empty();
  }

  void end() {
    ended_ = true;
    const std::string& uri = reader_->rows().uri();
    if (!told_->is_new(uri)) return;
    reader_->report();
    if (lengths_.any_long()) log_line("{}: {}", uri, lengths_.summary());
    if (unknown_ > 0) {
      log_line("{}: {} rows have a label that the model does not know; it is left out", uri,
               unknown_);
    }
  }

  std::unique_ptr<TextRowReader> reader_;
  std::shared_ptr<const LongTextEncoder> encoder_;
  std::shared_ptr<const TextTarget> target_;
  std::shared_ptr<ToldOnce> told_;
  size_t chunk_;
  TextLengths lengths_;
  int64_t row_ = 0;
  uint64_t unknown_ = 0;
  bool ended_ = false;
};

}  // namespace

void TextData::add(const EncodedText& text, TextRow row) {
  check(line_.size() < UINT32_MAX, "rows have numbers of 32 bits");
  for (const PairInput& input : text.inputs) {
    ids_.insert(ids_.end(), input.ids.begin(), input.ids.end());
    end_.push_back(ids_.size());
    first_.push_back(input.first);
    row_.push_back(static_cast<uint32_t>(line_.size()));
  }
  examples_end_.push_back(first_.size());
  line_.push_back(row.line);
  labels_.push_back(std::move(row.label).value_or(""));
  row_ids_.push_back(std::move(row.id));
  lengths_.add(text);
}

std::vector<RowLabel> TextData::labels_of_examples() const {
  std::vector<RowLabel> all;
  all.reserve(size());
  for (uint32_t row : row_) all.push_back(labels_[row]);
  return all;
}

void TextData::set_target(std::shared_ptr<const TextTarget> target) {
  for (uint64_t i = 0; i < rows(); ++i) {
    std::string fault = target->fault(labels_[i]);
    if (!fault.empty()) throw error("{}:{}: {}", name_, line_[i], fault);
  }
  target_ = std::move(target);
}

std::string TextData::place(int64_t row) const {
  return fmt::format("{}:{}", name_, line_.at(static_cast<size_t>(row)));
}

Example TextData::example(uint64_t index) const {
  check(target_ != nullptr, "labels mean something before rows are taken");
  Example example;
  uint64_t begin = index == 0 ? 0 : end_[index - 1];
  add_input(example, ids_.data() + begin, end_.at(index) - begin, first_[index]);
  uint32_t row = row_[index];
  uint64_t first = row == 0 ? 0 : examples_end_[row - 1];
  add_window(example, index - first, examples_end_[row] - first);
  target_->put(example, &labels_[row]);
  example["row"] = std::vector<int64_t>{row};
  if (!row_ids_[row].empty()) example["id"] = std::vector<std::string>{row_ids_[row]};
  return example;
}

void TextData::report(std::string_view part) const {
  auto examples = static_cast<double>(std::max<uint64_t>(size(), 1));
  log_line("{}{}: {} rows, {:.1f} tokens {}", name_, part, rows(),
           static_cast<double>(ids_.size()) / examples, size() > rows() ? "a window" : "each");
  log_line("{}{}: {}", name_, part, lengths_.summary());
}

ExampleStream stream(std::shared_ptr<const TextData> data) {
  uint64_t size = data->size();
  return indexed(size, [=](uint64_t index) { return data->example(index); });
}

void load_texts(TextRowReader& reader, const LongTextEncoder& encoder, int64_t most,
                const std::function<void(const EncodedText& text, TextRow row)>& take) {
  uint64_t left = most > 0 ? static_cast<uint64_t>(most) : UINT64_MAX;
  for (;;) {
    std::vector<TextRow> rows = read_chunk(reader, std::min<uint64_t>(kChunk, left));
    if (rows.empty()) break;
    left -= rows.size();
    std::vector<EncodedText> texts = encode_all(encoder, rows, reader.rows().uri());
    for (size_t i = 0; i < rows.size(); ++i) take(texts[i], std::move(rows[i]));
  }
  reader.report();
}

ExampleStream stream_texts(std::unique_ptr<TextRowReader> reader,
                           std::shared_ptr<const LongTextEncoder> encoder,
                           std::shared_ptr<const TextTarget> target, std::shared_ptr<ToldOnce> told,
                           bool one_by_one) {
  return std::make_unique<AsRead>(std::move(reader), std::move(encoder), std::move(target),
                                  std::move(told), one_by_one ? 1 : kChunk);
}

}  // namespace bertrain
