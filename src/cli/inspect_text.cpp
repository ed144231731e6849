// What is in a text: a vocabulary's pieces, or a corpus's documents, sentences and oddities.
#include <algorithm>
#include <optional>
#include <ostream>

#include "base/error.h"
#include "cli/inspect.h"
#include "storage/storage.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

namespace bertrain {
namespace {

// ---- vocabulary

bool looks_like_vocabulary(const std::string&, std::string_view start) {
  bool unknown = false;
  for (size_t begin = 0; begin < start.size();) {
    size_t end = std::min(start.find('\n', begin), start.size());
    std::string_view line = strip(start.substr(begin, end - begin));
    if (line.find_first_of(" \t") != std::string_view::npos) return false;
    unknown = unknown || line == kUnknown;
    begin = end + 1;
  }
  return unknown;
}

struct PieceCounts {
  size_t continuations = 0, unused = 0, characters = 0, upper_case = 0;
  std::string longest;
};

PieceCounts count_pieces(const Vocabulary& vocabulary) {
  PieceCounts counts;
  for (const std::string& token : vocabulary.tokens()) {
    if (token.starts_with("[unused")) ++counts.unused;
    if (token.starts_with("[") && token.ends_with("]")) continue;  // specials
    bool continuation = token.starts_with("##");
    counts.continuations += continuation;
    std::string_view text = std::string_view(token).substr(continuation ? 2 : 0);
    counts.characters += count_code_points(text) == 1;
    counts.upper_case +=
        std::any_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
    if (count_code_points(token) > count_code_points(counts.longest)) counts.longest = token;
  }
  return counts;
}

void describe_vocabulary(const std::string& path, const InspectOptions& options,
                         std::ostream& out) {
  Vocabulary vocabulary = Vocabulary::read(path, {});
  PieceCounts counts = count_pieces(vocabulary);
  out << fmt::format("{}: vocabulary of {} pieces\n", path, vocabulary.size());
  out << "specials ";
  for (std::string_view token : {kPad, kUnknown, kClassify, kSeparate, kMask}) {
    int32_t id = vocabulary.find(token);
    out << fmt::format(" {}={}", token, id < 0 ? "missing" : std::to_string(id));
  }
  out << fmt::format("\npieces    {} continue a word (##), {} are one character, {} are [unused]\n",
                     counts.continuations, counts.characters, counts.unused);
  out << fmt::format("case      {}\n",
                     counts.upper_case == 0
                         ? "no capital letter: made for --do_lower_case"
                         : fmt::format("{} pieces with capital letters: made for --nodo_lower_case",
                                       counts.upper_case));
  out << fmt::format("longest   {}\n", counts.longest);
  size_t distinct = vocabulary.distinct().size();
  if (distinct < vocabulary.size()) {
    out << fmt::format("repeated  {} lines; of equal pieces the last line is the id\n",
                       vocabulary.size() - distinct);
  }
  auto shown = static_cast<int32_t>(std::min<int64_t>(std::max<int64_t>(options.show, 0),
                                                      static_cast<int64_t>(vocabulary.size())));
  for (int32_t id = 0; id < shown; ++id) out << fmt::format("  {} {}\n", id, vocabulary.token(id));
}

// ---- corpus

bool looks_like_text(const std::string&, std::string_view start) {
  return !start.empty() && start.find('\0') == std::string_view::npos;
}

struct TextCounts {
  uint64_t lines = 0, documents = 0, sentences = 0, words = 0, bytes = 0, tabs = 0,
           carriage_returns = 0;
  uint64_t invalid = 0, tokens = 0, unknown = 0, longest = 0, longest_line = 0;
  std::string first_invalid;  // its place
  bool byte_order_mark = false, open = false;
};

void count_line(std::string& line, const LineReader& reader, const Tokenizer* tokenizer,
                TextCounts& c) {
  ++c.lines;
  c.bytes += line.size() + 1;
  c.tabs += line.find('\t') != std::string::npos;
  c.carriage_returns += line.ends_with('\r');
  if (c.lines == 1) c.byte_order_mark = line.starts_with("\xef\xbb\xbf");
  if (std::optional<size_t> byte = find_invalid_utf8(line)) {
    if (c.invalid++ == 0) {
      c.first_invalid = fmt::format("{}:{}, byte {}", reader.uri(), reader.line_number(), *byte);
    }
    repair_utf8(line, InvalidUtf8::replace, reader.uri());
  }
  std::string_view text = strip(line);
  if (text.empty()) {
    c.open = false;
    return;
  }
  c.documents += !c.open;
  c.open = true;
  ++c.sentences;
  if (line.size() > c.longest) {
    c.longest = line.size();
    c.longest_line = reader.line_number();
  }
  bool within = false;
  for (char ch : text) {
    bool blank = ch == ' ' || (ch >= '\t' && ch <= '\r');
    c.words += !blank && !within;
    within = !blank;
  }
  if (!tokenizer) return;
  int32_t unknown = tokenizer->vocabulary().find(kUnknown);
  std::vector<int32_t> ids = tokenizer->ids(text);
  c.tokens += ids.size();
  c.unknown += static_cast<uint64_t>(std::count(ids.begin(), ids.end(), unknown));
}

double mean(uint64_t sum, uint64_t count) {
  return count == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(count);
}

void print_counts(const TextCounts& c, bool tokenized, std::ostream& out) {
  out << fmt::format("lines     {} ({} bytes), {} of them blank\n", c.lines, c.bytes,
                     c.lines - c.sentences);
  out << fmt::format("documents {} (parted by blank lines), {:.1f} sentences each\n", c.documents,
                     mean(c.sentences, c.documents));
  out << fmt::format("sentences {} (lines), {:.1f} words each\n", c.sentences,
                     mean(c.words, c.sentences));
  if (tokenized) {
    out << fmt::format("tokens    {}, {:.2f} a word, {:.2f} % [UNK]\n", c.tokens,
                       mean(c.tokens, c.words), 100 * mean(c.unknown, c.tokens));
  }
  out << fmt::format("longest   line {}, {} bytes\n", c.longest_line, c.longest);
  if (c.invalid > 0) {
    out << fmt::format("invalid   {} lines are not UTF-8, the first: {}\n", c.invalid,
                       c.first_invalid);
  }
  if (c.byte_order_mark) out << "note      begins with a byte order mark\n";
  if (c.carriage_returns > 0)
    out << fmt::format("note      {} lines end in CRLF\n", c.carriage_returns);
  if (c.tabs > 0) out << fmt::format("note      {} lines hold tabs: a table (TSV)?\n", c.tabs);
  if (c.documents == 1)
    out << "note      a single document: no random next sentences can be made of it\n";
}

void describe_corpus(const std::string& path, const InspectOptions& options, std::ostream& out) {
  std::optional<Tokenizer> tokenizer;
  if (!options.vocab_file.empty()) {
    TokenizerOptions how;
    how.do_lower_case = options.do_lower_case;
    tokenizer.emplace(Vocabulary::read(options.vocab_file, {kUnknown}), how);
  }
  out << fmt::format("{}: text\n", path);
  TextCounts counts;
  std::unique_ptr<LineReader> reader = read_lines(path);
  int64_t shown = 0;
  for (std::string line; reader->next(line);) {
    count_line(line, *reader, tokenizer ? &*tokenizer : nullptr, counts);
    if (shown++ < options.show) out << fmt::format("  {}\n", strip(line).substr(0, 200));
  }
  print_counts(counts, tokenizer.has_value(), out);
}

}  // namespace

const Inspector kInspectVocabulary = {"vocabulary", looks_like_vocabulary, describe_vocabulary};
const Inspector kInspectCorpus = {"text", looks_like_text, describe_corpus};

}  // namespace bertrain
