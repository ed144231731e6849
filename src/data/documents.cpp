// Corpus texts to documents: lines in batches, read ahead by one thread and tokenized by all.
#include "data/documents.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "base/machine.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

// Enough lines that threads seldom wait for the longest, few enough that memory stays small.
constexpr size_t kBatchBytes = size_t{4} << 20;
constexpr size_t kBatchLines = 1 << 16;

struct Line {
  std::string text;
  std::vector<int32_t> ids;
  bool blank = false, repaired = false;
};

struct Batch {
  size_t file = 0;
  uint64_t first_line = 1;
  std::vector<Line> lines;
  bool ends_file = false;
};

// All files as batches of lines; a batch never spans files.
class BatchReader {
 public:
  explicit BatchReader(const std::vector<std::string>& uris) : uris_(uris) {}

  std::optional<Batch> next() {
    if (file_ == uris_.size()) return std::nullopt;
    if (!reader_) {
      log_line("reading {}", uris_[file_]);
      reader_ = read_lines(uris_[file_]);
    }
    Batch batch;
    batch.file = file_;
    batch.first_line = reader_->line_number() + 1;
    for (size_t bytes = 0; bytes < kBatchBytes && batch.lines.size() < kBatchLines;) {
      Line line;
      if (!reader_->next(line.text)) {
        batch.ends_file = true;
        reader_ = nullptr;
        ++file_;
        break;
      }
      bytes += line.text.size();
      batch.lines.push_back(std::move(line));
    }
    return batch;
  }

 private:
  const std::vector<std::string>& uris_;
  size_t file_ = 0;
  std::unique_ptr<LineReader> reader_;
};

void tokenize(Batch& batch, const std::string& uri, const Tokenizer& tokenizer,
              InvalidUtf8 invalid_utf8) {
  std::exception_ptr failure;
  size_t failed_line = batch.lines.size();
#pragma omp parallel for schedule(dynamic, 64)
  for (size_t i = 0; i < batch.lines.size(); ++i) {
    Line& line = batch.lines[i];
    try {
      if (find_invalid_utf8(line.text)) {
        line.repaired =
            repair_utf8(line.text, invalid_utf8, fmt::format("{}:{}", uri, batch.first_line + i));
      }
      std::string_view text = strip(line.text);
      line.blank = text.empty();
      if (!line.blank) tokenizer.append_ids(text, line.ids);
    } catch (...) {
      // The first line that fails is reported, whichever thread was first.
#pragma omp critical
      if (i < failed_line) {
        failed_line = i;
        failure = std::current_exception();
      }
    }
  }
  if (failure) std::rethrow_exception(failure);
}

// Nearly, for gzip: what is in it is known only when it is unpacked.
double unpacked_size(const std::string& uri) {
  constexpr double kPacked = 3;  // text to its gzip
  constexpr std::array<std::byte, 2> kGzip = {std::byte{0x1f}, std::byte{0x8b}};
  Storage& storage = storage_for(uri);
  uint64_t size = storage.size(uri).value_or(0);
  std::array<std::byte, 2> magic{};
  if (size >= magic.size()) storage.read(uri, 0, magic);
  return static_cast<double>(size) * (magic == kGzip ? kPacked : 1);
}

class Progress {
 public:
  void show(const Documents& documents, const CorpusCounts& counts) {
    auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::seconds(10)) return;
    last_ = now;
    double seconds = std::chrono::duration<double>(now - start_).count();
    log_line("read {:.1f} MB, {} documents, {} tokens; {:.2f} MB/s", counts.bytes / 1e6,
             documents.size(), documents.total_tokens(), counts.bytes / 1e6 / seconds);
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now(), last_ = start_;
};

}  // namespace

void Documents::add_sentence(std::span<const int32_t> tokens) {
  if (tokens.empty()) return;
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  sentence_ends_.push_back(tokens_.size());
}

bool Documents::is_open() const {
  return sentence_ends_.size() > (document_ends_.empty() ? 0 : document_ends_.back());
}

void Documents::end_document() {
  if (is_open()) document_ends_.push_back(sentence_ends_.size());
}

Documents::Run Documents::run(size_t document, size_t first, size_t last) const {
  size_t base = first_sentence(document);
  auto end_of = [&](size_t sentences) {
    return sentences == 0 ? 0 : sentence_ends_[sentences - 1];
  };
  uint64_t begin = end_of(base + first);
  return {begin, end_of(base + last) - begin};
}

uint64_t Documents::growth(uint64_t tokens, uint64_t sentences) const {
  uint64_t bytes = 0;
  if (tokens_.size() + tokens > tokens_.capacity()) {
    bytes += (tokens_.size() + tokens) * sizeof(int32_t);
  }
  if (sentence_ends_.size() + sentences > sentence_ends_.capacity()) {
    bytes += (sentence_ends_.size() + sentences) * sizeof(uint64_t);
  }
  return bytes;
}

Documents read_documents(const std::vector<std::string>& uris, const Tokenizer& tokenizer,
                         InvalidUtf8 invalid_utf8, CorpusCounts& counts,
                         const NeedsCheck& needs_check) {
  Documents documents;
  Progress progress;
  BatchReader reader(uris);
  auto read = [&reader] { return reader.next(); };
  std::future<std::optional<Batch>> ahead = std::async(std::launch::async, read);
  while (std::optional<Batch> batch = ahead.get()) {
    ahead = std::async(std::launch::async, read);
    const std::string& uri = uris[batch->file];
    tokenize(*batch, uri, tokenizer, invalid_utf8);
    if (needs_check) {
      uint64_t tokens = 0;
      for (const Line& line : batch->lines) tokens += line.ids.size();
      needs_check({documents.total_tokens() + tokens, 0,
                   resident_memory() + documents.growth(tokens, batch->lines.size())});
    }
    for (const Line& line : batch->lines) {
      ++counts.lines;
      counts.bytes += line.text.size() + 1;
      counts.repaired += line.repaired;
      if (line.blank) {
        documents.end_document();
      } else {
        counts.without_tokens += line.ids.empty();
        documents.add_sentence(line.ids);
      }
    }
    if (batch->ends_file) {
      ++counts.files;
      bool last = batch->file + 1 == uris.size();
      if (!last && documents.is_open()) {
        log_warning("{} ends without a blank line, so its last document goes on in {}", uri,
                    uris[batch->file + 1]);
      }
    }
    progress.show(documents, counts);
  }
  documents.end_document();
  return documents;
}

std::optional<CorpusSample> sample_documents(const std::vector<std::string>& uris,
                                             const Tokenizer& tokenizer) {
  constexpr size_t kFiles = 16;          // that are looked into
  constexpr uint64_t kSample = 2 << 20;  // bytes of them together
  double all = 0, read = 0;
  for (const std::string& uri : uris) {
    if (is_read_once(uri)) return std::nullopt;
    all += unpacked_size(uri);
  }
  CorpusSample sample;
  std::vector<int32_t> ids;
  std::string line;
  size_t files = std::min(uris.size(), kFiles);
  for (size_t i = 0; i < files; ++i) {
    std::unique_ptr<LineReader> lines = read_lines(uris[uris.size() * i / files]);
    for (uint64_t bytes = 0; bytes < kSample / files && lines->next(line);) {
      bytes += line.size() + 1;
      read += static_cast<double>(line.size() + 1);
      repair_utf8(line, InvalidUtf8::ignore, "");
      ids.clear();
      tokenizer.append_ids(strip(line), ids);
      ids.empty() ? sample.documents.end_document() : sample.documents.add_sentence(ids);
    }
    sample.documents.end_document();
  }
  sample.times = std::max(1.0, all / std::max(1.0, read));
  return sample;
}

}  // namespace bertrain
