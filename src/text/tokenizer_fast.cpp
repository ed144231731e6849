// Ids only, as fast as memory allows: ASCII words by a byte table, and the thread's cache of words.
#include "text/raw_words.h"
#include "text/tokenizer_tables.h"
#include "text/word_cache.h"

namespace bertrain {
namespace {

struct ThreadMemory {
  WordScratch scratch;
  std::vector<int32_t> ids;
};

ThreadMemory& thread_memory() {
  thread_local ThreadMemory memory;
  return memory;
}

}  // namespace

void WordCutter::append_ids(std::string_view text, std::vector<int32_t>& ids) const {
  each_part(text, [&](std::string_view part, int32_t special) {
    if (special >= 0) return ids.push_back(special);
    append_literal(part, ids);
  });
}

void WordCutter::append_literal(std::string_view text, std::vector<int32_t>& ids) const {
  ThreadMemory& memory = thread_memory();
  WordCache& cache = WordCache::of_thread();
  IdOutput out(ids);

  auto compute = [&](ByteKind kind, std::string_view raw, std::string_view before) {
    memory.ids.clear();
    if (kind == ByteKind::letter) {
      append_letters(raw, memory.scratch, memory.ids);
    } else {
      append_raw_word(raw, before, memory.scratch, memory.ids);
    }
  };
  auto cached = [&](ByteKind kind, std::string_view raw) {
    WordCache::Key key(raw, static_cast<size_t>(text.data() + text.size() - raw.data()));
    WordCache::Line& line = cache.line(key);
    if (line.serial != serial || !key.equals(line, raw.size())) {
      compute(kind, raw, {});
      if (memory.ids.size() > WordCache::kCachedIds) return out.put(memory.ids);
      key.fill(line, raw.size(), serial, memory.ids);
    }
    out.put(line);
  };
  each_raw_word(text, [&](ByteKind kind, std::string_view raw, std::string_view before) {
    if (kind == ByteKind::symbol) return out.put(symbol_ids[static_cast<unsigned char>(raw[0])]);
    bool context = kind == ByteKind::other && lower && !before.empty() && has_capital_sigma(raw);
    if (raw.size() <= WordCache::kKeyBytes && !context) return cached(kind, raw);
    // Without this a line of one long run of letters would be normalized whole.
    if (kind == ByteKind::letter && raw.size() > max_chars) return out.put(wordpiece.unknown());
    compute(kind, raw, before);
    out.put(memory.ids);
  });
  out.flush();
}

}  // namespace bertrain
