// The tokenize command: one line out per line in, as columns, JSON, or stage by stage.
#include "cli/tokenize_command.h"

#include <optional>
#include <ostream>

#include "base/error.h"
#include "base/json.h"
#include "cli/text_options.h"
#include "storage/storage.h"
#include "text/unicode.h"

namespace bertrain {
namespace {

struct TokenizeOptions {
  TextOptions text;
  bool jsonl = false;
  bool json = false;
  bool explain = false;
  std::string invalid_utf8 = "error";

  EachOption each() {
    return [this](OptionVisitor& v) {
      text.each(v);
      v("jsonl", jsonl, "each input line is a JSON string, so that a text may hold line breaks");
      v("json", json, "print a JSON object a line: text, pieces, ids, offsets (in characters)");
      v("explain", explain, "print each stage with its offsets into the original text");
      v("invalid_utf8", invalid_utf8, "bytes that are not UTF-8: error, replace or ignore");
    };
  }
};

// Text on its way out, written in blocks: a line may be far longer than what should be held twice.
class Output {
 public:
  explicit Output(std::ostream& out) : out_(out) {}
  Output& operator<<(std::string_view text) {
    buffer_ += text;
    if (buffer_.size() >= kBlock) write();
    return *this;
  }
  Output& operator<<(int64_t number) { return *this << fmt::format_int(number).str(); }
  void write() {
    out_ << buffer_;
    buffer_.clear();
  }
  void flush() {
    write();
    out_.flush();
  }

 private:
  static constexpr size_t kBlock = size_t{1} << 16;
  std::ostream& out_;
  std::string buffer_;
};

std::string json_quoted(std::string_view text) { return Json(text).dump(); }

// "pieces<TAB>ids", both separated by blanks.
void print_columns(const Tokenizer& tokenizer, std::string_view text, Output& out) {
  std::vector<int32_t> ids = tokenizer.ids(text);
  std::string_view gap;
  for (int32_t id : ids) {
    out << gap << tokenizer.vocabulary().token(id);
    gap = " ";
  }
  gap = "\t";
  for (int32_t id : ids) {
    out << gap << int64_t{id};
    gap = " ";
  }
  out << (ids.empty() ? "\t\n" : "\n");
}

void print_json(const Tokenizer& tokenizer, std::string_view text, Output& out) {
  std::vector<int32_t> ids = tokenizer.ids(text);
  out << "{\"text\": " << json_quoted(text) << ", \"pieces\": [";
  std::string_view gap;
  for (int32_t id : ids) {
    out << gap << json_quoted(tokenizer.vocabulary().token(id));
    gap = ", ";
  }
  out << "], \"ids\": [";
  gap = "";
  for (int32_t id : ids) {
    out << gap << int64_t{id};
    gap = ", ";
  }
  out << "], \"offsets\": [";
  gap = "";
  tokenizer.each_piece(text, [&](const PieceSpan& p) {
    out << gap << "[" << static_cast<int64_t>(p.begin) << ", " << static_cast<int64_t>(p.end)
        << "]";
    gap = ", ";
  });
  out << "]}\n";
}

// The tokenizer with its steps switched on one by one, so that each line of --explain is the real thing.
class Stages {
 public:
  explicit Stages(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {
    if (tokenizer.byte_bpe()) return;  // it cuts what is written, and no more
    split_ = bare(tokenizer, false, false);
    lowered_ = bare(tokenizer, true, false);
  }

  void print(std::string_view text, Output& out) const {
    out << "text    " << json_quoted(text) << "\n";
    print_words("split   ", split_ ? *split_ : tokenizer_, text, out);
    bool lower = tokenizer_.options().do_lower_case;
    if (lower) print_words("lower   ", *lowered_, text, out);
    if (tokenizer_.strips_accents()) print_words("strip   ", tokenizer_, text, out);
    out << "pieces ";
    tokenizer_.each_piece(text, [&](const PieceSpan& p) {
      out << " " << tokenizer_.vocabulary().token(p.id) << "@" << static_cast<int64_t>(p.begin)
          << "-" << static_cast<int64_t>(p.end);
    });
    out << "\nids    ";
    for (int32_t id : tokenizer_.ids(text)) out << " " << int64_t{id};
    out << "\n\n";
  }

 private:
  static Tokenizer bare(const Tokenizer& whole, bool lower, bool strip) {
    std::vector<std::string> specials;
    for (std::string_view token : {kPad, kUnknown, kClassify, kSeparate, kMask}) {
      if (whole.vocabulary().find(token) >= 0) specials.emplace_back(token);
    }
    return Tokenizer(Vocabulary(specials),
                     {.do_lower_case = lower,
                      .strip_accents = strip,
                      .special_tokens_in_text = whole.options().special_tokens_in_text});
  }

  static void print_words(std::string_view head, const Tokenizer& tokenizer, std::string_view text,
                          Output& out) {
    out << head.substr(0, head.size() - 1);
    tokenizer.each_word(text, [&](const WordSpan& w) {
      out << " " << w.text << "@" << static_cast<int64_t>(w.begin) << "-"
          << static_cast<int64_t>(w.end);
    });
    out << "\n";
  }

  const Tokenizer& tokenizer_;
  std::optional<Tokenizer> split_, lowered_;
};

std::string parse_json_string(const std::string& line, std::string_view place) {
  Json value = Json::parse(line, nullptr, false);
  if (!value.is_string()) {
    throw error(
        "{}: a JSON string expected, as \"some text\"; without --jsonl lines are plain text",
        place);
  }
  return value.get<std::string>();
}

void tokenize_file(const std::string& uri, const TokenizeOptions& options,
                   const Tokenizer& tokenizer, Output& out) {
  InvalidUtf8 invalid = parse_invalid_utf8(options.invalid_utf8);
  Stages stages(tokenizer);
  auto lines = read_lines(uri);
  bool follow = uri == "-";  // somebody may be waiting for the answer to each line
  std::string line;
  while (lines->next(line)) {
    std::string place = fmt::format("{}:{}", uri, lines->line_number());
    repair_utf8(line, invalid, place);
    if (options.jsonl) line = parse_json_string(line, place);
    if (options.explain) {
      stages.print(line, out);
    } else if (options.json) {
      print_json(tokenizer, line, out);
    } else {
      print_columns(tokenizer, line, out);
    }
    if (follow) out.flush();
  }
}

void run_tokenize(Args args, std::ostream& stream) {
  TokenizeOptions options;
  if (wants_help(args)) return print_help(kTokenizeCommand, options.each(), stream);
  std::vector<std::string> files = parse_options(args, options.each());
  if (options.explain && options.json) {
    throw usage_error("--explain and --json are two forms of output; give one of them");
  }
  parse_invalid_utf8(options.invalid_utf8);
  Tokenizer tokenizer = options.text.tokenizer({kUnknown});
  if (files.empty()) files = {"-"};
  Output out(stream);
  for (const std::string& list : files) {
    for (const std::string& uri : expand_globs(list)) tokenize_file(uri, options, tokenizer, out);
  }
  out.flush();
}

}  // namespace

const Command kTokenizeCommand = {
    "tokenize", "text to pieces and ids, one line out per line in",
    "bertrain tokenize --vocab_file=vocab.txt corpus.txt\n"
    "echo 'Hello world' | bertrain tokenize --vocab_file=vocab.txt --explain\n"
    "bertrain tokenize --vocab_file=vocab.txt --json --jsonl texts.jsonl",
    run_tokenize};

}  // namespace bertrain
