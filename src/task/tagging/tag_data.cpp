// Chunks of sentences, tokenized side by side and taken in order.
#include "task/tagging/tag_data.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "base/error.h"
#include "base/first_failure.h"
#include "base/quote.h"
#include "data/chunked_stream.h"

namespace bertrain {
namespace {

constexpr size_t kChunk = 4096;  // sentences: enough to keep the cores busy, few to hold

std::vector<std::vector<TagWindow>> cut_all(const WordPieces& pieces,
                                            const std::vector<ConllSentence>& sentences) {
  std::vector<std::vector<TagWindow>> all(sentences.size());
  FirstFailure failure;
#pragma omp parallel for schedule(dynamic, 16) if (sentences.size() > 64)
  for (size_t i = 0; i < sentences.size(); ++i) {
    failure.run([&] { all[i] = pieces.windows(sentences[i].words); });
  }
  failure.rethrow();
  return all;
}

std::vector<ConllSentence> read_chunk(ConllReader& reader, size_t count) {
  std::vector<ConllSentence> sentences;
  ConllSentence sentence;
  while (sentences.size() < count && reader.next(sentence)) {
    sentences.push_back(std::move(sentence));
  }
  return sentences;
}

void warn_of_repairs(const ConllReader& reader) {
  if (reader.repaired() == 0) return;
  log_warning("{}: {} lines were not UTF-8 and have been changed", reader.uri(), reader.repaired());
}

void add_ids(Example& example, const int32_t* ids, size_t count) {
  example["input_ids"] = std::vector<int64_t>(ids, ids + count);
  example["segment_ids"] = std::vector<int64_t>(count, 0);
}

void add_note(Example& example, size_t first, size_t count, size_t words) {
  example["tagged"] = std::vector<int64_t>{static_cast<int64_t>(first), static_cast<int64_t>(count),
                                           static_cast<int64_t>(words)};
}

class AsRead final : public ChunkedStream {
 public:
  AsRead(std::string uri, const ConllColumns& columns, InvalidUtf8 invalid,
         std::shared_ptr<const WordPieces> pieces, std::shared_ptr<const Labels> labels,
         std::shared_ptr<ToldOnce> told, size_t chunk)
      : uri_(std::move(uri)),
        trained_(columns.trained),
        reader_(uri_, columns, invalid),
        pieces_(std::move(pieces)),
        labels_(std::move(labels)),
        told_(std::move(told)),
        chunk_(chunk) {}

 private:
  bool fill(std::deque<Example>& ready) override {
    std::vector<ConllSentence> sentences = read_chunk(reader_, chunk_);
    std::vector<std::vector<TagWindow>> all = cut_all(*pieces_, sentences);
    for (size_t i = 0; i < sentences.size(); ++i) {
      for (const TagWindow& window : all[i]) ready.push_back(example(window, sentences[i]));
      Example& last = ready.back();
      if (std::optional<size_t> column = reader_.tag_column()) {
        last["tag_column"] = std::vector<int64_t>{static_cast<int64_t>(*column)};
      }
      last["lines"] = std::move(sentences[i].lines);
      last["word_lines"] = std::move(sentences[i].word_lines);
      words_ += sentences[i].words.size();
      cut_ += all[i].size() > 1;
      last["words"] = std::move(sentences[i].words);
      ++row_;
    }
    if (sentences.empty()) end();
    return !sentences.empty();
  }

  Example example(const TagWindow& window, const ConllSentence& sentence) const {
    Example example;
    add_ids(example, window.ids.data(), window.ids.size());
    size_t first = window.first_word, count = window.positions.size();
    add_note(example, first, count, sentence.words.size());
    std::vector<int64_t> tags(count);
    std::vector<float> weights(count);
    if (!sentence.tags.empty()) {
      auto begin = sentence.tags.begin() + static_cast<int64_t>(first);
      std::vector<std::string> gold(begin, begin + static_cast<int64_t>(count));
      for (size_t i = 0; i < count; ++i) {
        int64_t label = labels_->find(gold[i]);
        tags[i] = std::max<int64_t>(label, 0);
        weights[i] = label < 0 ? 0 : 1;
      }
      example["gold"] = std::move(gold);
    }
    example["target_positions"] =
        std::vector<int64_t>(window.positions.begin(), window.positions.end());
    example["tags"] = std::move(tags);
    example["tag_weights"] = std::move(weights);
    example["row"] = std::vector<int64_t>{row_};
    return example;
  }

  void end() {
    if (!told_->is_new(uri_)) return;
    warn_of_repairs(reader_);
    if (cut_ > 0) log_line("{}: {} sentences were tagged in several windows", uri_, cut_);
    if (words_ == 0) log_warning("{}: there is no word to tag", uri_);
    auto columns = static_cast<int64_t>(reader_.columns());
    if (words_ > 0 && !reader_.tag_column() && columns > 1) {
      log_line("{}: {} columns, {} in the file trained on: none is taken for tags, one is added",
               uri_, columns, trained_);
    }
  }

  std::string uri_;
  int64_t trained_;
  ConllReader reader_;
  std::shared_ptr<const WordPieces> pieces_;
  std::shared_ptr<const Labels> labels_;
  std::shared_ptr<ToldOnce> told_;
  size_t chunk_;
  int64_t row_ = 0;
  uint64_t words_ = 0, cut_ = 0;
};

}  // namespace

void TagData::add(const std::vector<TagWindow>& windows, const ConllSentence& sentence) {
  if (sentence.words.empty()) return;
  check(sentence.tags.size() == sentence.words.size(), "sentences in memory have tags");
  check(line_.size() < UINT32_MAX, "sentences have numbers of 32 bits");
  for (size_t w = 0; w < sentence.tags.size(); ++w) {
    auto [known, is_new] = found_.number.emplace(sentence.tags[w], found_.names.size());
    if (is_new) {
      found_.names.push_back(sentence.tags[w]);
      found_.line.push_back(sentence.line_of(w));
      found_.count.push_back(0);
    }
    ++found_.count[known->second];
    tags_.push_back(known->second);
  }
  for (const TagWindow& window : windows) {
    ids_.insert(ids_.end(), window.ids.begin(), window.ids.end());
    positions_.insert(positions_.end(), window.positions.begin(), window.positions.end());
    windows_.push_back(
        {ids_.size(), positions_.size(), static_cast<uint32_t>(line_.size()), window.first_word});
  }
  cut_ += windows.size() > 1;
  line_.push_back(sentence.line_of(0));
  words_.push_back(sentence.words.size());
}

void TagData::set_labels(std::shared_ptr<const Labels> labels, bool may_be_unknown) {
  label_of_.clear();
  uint64_t unknown = 0, words = 0;
  std::string first;
  for (size_t i = 0; i < found_.names.size(); ++i) {
    label_of_.push_back(labels->find(found_.names[i]));
    if (label_of_.back() >= 0) continue;
    if (unknown++ == 0) {
      first = fmt::format("{}:{}: tag {} is not among the model's: {}", name_, found_.line[i],
                          quote(found_.names[i]), labels->list());
    }
    words += found_.count[i];
  }
  if (unknown == 0) return;
  if (unknown == found_.names.size()) {
    throw error("{}; no tag of the file is: does --tag_column name the tags' column?", first);
  }
  if (!may_be_unknown) throw Error(first);
  log_warning("{}; {} of {} words have such tags ({} different ones), which count as not found",
              first, words, tags_.size(), unknown);
}

std::string TagData::place(int64_t sentence) const {
  return fmt::format("{}:{}", name_, line_.at(static_cast<size_t>(sentence)));
}

Example TagData::example(uint64_t index, bool notes) const {
  check(label_of_.size() == found_.names.size(), "tags mean something before rows are taken");
  const Window& window = windows_.at(index);
  uint64_t ids = index == 0 ? 0 : windows_[index - 1].ids_end;
  uint64_t first = index == 0 ? 0 : windows_[index - 1].words_end, last = window.words_end;
  Example example;
  add_ids(example, ids_.data() + ids, window.ids_end - ids);
  std::vector<int64_t> positions, tags;
  std::vector<float> weights;
  std::vector<std::string> gold;
  for (uint64_t w = first; w < last; ++w) {
    int64_t label = label_of_[tags_[w]];
    positions.push_back(positions_[w]);
    tags.push_back(std::max<int64_t>(label, 0));
    weights.push_back(label < 0 ? 0.0F : 1.0F);
    if (notes) gold.push_back(found_.names[tags_[w]]);
  }
  example["target_positions"] = std::move(positions);
  example["tags"] = std::move(tags);
  example["tag_weights"] = std::move(weights);
  example["row"] = std::vector<int64_t>{window.sentence};
  if (notes) {
    add_note(example, window.first_word, last - first, words_[window.sentence]);
    example["gold"] = std::move(gold);
  }
  return example;
}

void TagData::report() const {
  auto share = [](uint64_t part, uint64_t whole) {
    return static_cast<double>(part) / static_cast<double>(std::max<uint64_t>(whole, 1));
  };
  // Words that two windows show are in both.
  log_line(
      "{}: {} sentences of {:.1f} words; {} are longer than a window: {} windows of {:.1f} pieces",
      name_, sentences(), share(words(), sentences()), cut_, size(),
      share(ids_.size() - 2 * size(), size()));
}

void TagData::report_tags() const {
  auto most = std::max_element(found_.count.begin(), found_.count.end());
  if (most == found_.count.end()) return;
  log_line("{}: {} tags; the most frequent, {}, is {:.1f} % of the words", name_,
           found_.names.size(),
           quote(found_.names[static_cast<size_t>(most - found_.count.begin())]),
           100.0 * static_cast<double>(*most) / static_cast<double>(words()));
}

ExampleStream stream(std::shared_ptr<const TagData> data, bool notes) {
  uint64_t size = data->size();
  return indexed(size, [=](uint64_t index) { return data->example(index, notes); });
}

void load_sentences(
    ConllReader& reader, const WordPieces& pieces, int64_t most,
    const std::function<void(const std::vector<TagWindow>&, const ConllSentence&)>& take) {
  uint64_t left = most > 0 ? static_cast<uint64_t>(most) : UINT64_MAX;
  while (left > 0) {
    std::vector<ConllSentence> sentences = read_chunk(reader, std::min<uint64_t>(kChunk, left));
    if (sentences.empty()) break;
    std::vector<std::vector<TagWindow>> windows = cut_all(pieces, sentences);
    for (size_t i = 0; i < sentences.size(); ++i) {
      if (sentences[i].words.empty()) continue;
      --left;
      take(windows[i], sentences[i]);
    }
  }
  warn_of_repairs(reader);
}

ExampleStream stream_sentences(std::string uri, const ConllColumns& columns, InvalidUtf8 invalid,
                               std::shared_ptr<const WordPieces> pieces,
                               std::shared_ptr<const Labels> labels, std::shared_ptr<ToldOnce> told,
                               bool one_by_one) {
  return std::make_unique<AsRead>(std::move(uri), columns, invalid, std::move(pieces),
                                  std::move(labels), std::move(told), one_by_one ? 1 : kChunk);
}

}  // namespace bertrain
