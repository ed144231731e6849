// Words into lines of the vocabulary, and rows for them into the weights.
#include "cli/vocab_extend.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <ostream>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/quote.h"
#include "cli/conversion.h"
#include "cli/conversion_options.h"
#include "cli/converted_model.h"
#include "cli/model_source.h"
#include "cli/options.h"
#include "model/bert.h"
#include "storage/storage.h"
#include "text/unicode.h"

namespace bertrain {
namespace {

struct ExtendFlags {
  ConversionOptions conversion;
  std::string words_file;

  EachOption each() {
    return [this](OptionVisitor& v) {
      conversion.each(v);
      v("words_file", words_file, "the words, one a line");
    };
  }
};

// A piece to come: its line in the vocabulary and the pieces that it was cut into so far.
struct NewPiece {
  std::string text;
  std::vector<int32_t> old_pieces;
  size_t id = 0;
};

// Words as the tokenizer sees them, each once; those that are pieces already are counted.
struct Words {
  std::vector<NewPiece> pieces;
  size_t known = 0, unknown = 0;  // of these pieces: those with [UNK] in the old ones
  std::vector<std::string>
      changed;  // "'Riverbank' as 'riverbank'": what stands in no text as it was given
};

// The line's one word as the tokenizer sees it; "": a blank line. An Error for what no text can ever
// be cut into, as a piece for it would take a row in vain.
std::string word_of(const std::string& line, const std::string& place, const Tokenizer& tokenizer) {
  std::vector<WordSpan> parts = tokenizer.words(line);
  if (parts.empty() && line.find_first_not_of(" \t\r") == line.npos) return "";
  if (parts.empty()) {
    throw error("{}: {} is nothing to the tokenizer, which deletes all of it; leave it out", place,
                quote(line));
  }
  if (parts.size() > 1) {
    throw error("{}: {} is {} words to the tokenizer ({}, {}{}): one word a line is expected",
                place, quote(line), parts.size(), parts[0].text, parts[1].text,
                parts.size() > 2 ? ", …" : "");
  }
  uint64_t length = count_code_points(parts[0].text);
  auto most = static_cast<uint64_t>(tokenizer.options().max_chars_per_word);
  if (length > most) {
    throw error(
        "{}: {} has {} characters, and a word of more than {} is [UNK] whatever the vocabulary "
        "has; leave it out, or raise --max_input_chars_per_word",
        place, quote(line), length, most);
  }
  return parts[0].text;
}

Words read_words(const std::string& file, const Tokenizer& tokenizer) {
  Words words;
  std::set<std::string> seen;
  auto lines = read_lines(file);
  std::string line;
  while (lines->next(line)) {
    std::string place = fmt::format("{}:{}", file, lines->line_number());
    require_utf8(line, place);
    std::string text = word_of(line, place, tokenizer);
    if (text.empty()) continue;
    if (tokenizer.vocabulary().find(text) >= 0) {
      ++words.known;
    } else if (seen.insert(text).second) {
      words.pieces.push_back({text, tokenizer.ids(line), 0});
      if (line.find(text) == line.npos) {
        words.changed.push_back(fmt::format("{} as {}", quote(line), quote(text)));
      }
      const std::vector<int32_t>& ids = words.pieces.back().old_pieces;
      words.unknown += std::count(ids.begin(), ids.end(), tokenizer.vocabulary().id(kUnknown)) > 0;
    }
  }
  if (words.pieces.empty()) {
    throw error("{}: no new word in it ({} are pieces already)", file, words.known);
  }
  return words;
}

bool is_unused(std::string_view token) {
  if (!token.starts_with("[unused") || !token.ends_with("]")) return false;
  token = token.substr(7, token.size() - 8);
  return !token.empty() && token.find_first_not_of("0123456789") == token.npos;
}

// Places for the pieces: lines [unusedN] first, then the end. Gives how many lines were filled.
size_t place(std::vector<NewPiece>& pieces, std::vector<std::string>& tokens) {
  size_t filled = 0;
  for (size_t id = 0; id < tokens.size() && filled < pieces.size(); ++id) {
    if (!is_unused(tokens[id])) continue;
    pieces[filled].id = id;
    tokens[id] = pieces[filled++].text;
  }
  for (size_t i = filled; i < pieces.size(); ++i) {
    pieces[i].id = tokens.size();
    tokens.push_back(pieces[i].text);
  }
  return filled;
}

// The model with more rows: the word table's and the masked LM's bias's; each new one is the mean of
// its old pieces' rows.
class ExtendedReader : public CheckpointReader {
 public:
  ExtendedReader(const CheckpointReader& from, const std::vector<NewPiece>& pieces, int64_t rows)
      : from_(from), pieces_(pieces), types_(from.tensors()) {
    for (std::string_view name : {kWordTable, kOutputBias}) {
      auto type = types_.find(name);
      if (type != types_.end()) type->second.shape.at(0) = rows;
    }
  }
  const Named<ArrayType>& tensors() const override { return types_; }
  const std::string& uri() const override { return from_.uri(); }
  Array read(std::string_view name) const override {
    Array old = from_.read(name);
    if (name != kWordTable && name != kOutputBias) return old;
    return make_array(types_.find(name)->second, [&](std::span<std::byte> into) {
      std::memcpy(into.data(), old.bytes.get(), old.byte_size());
      auto* rows = reinterpret_cast<float*>(into.data());
      auto width = static_cast<size_t>(old.size() / old.type.shape[0]);
      std::span<const float> values = old.as<float>();
      for (const NewPiece& piece : pieces_) {
        for (size_t column = 0; column < width; ++column) {
          double sum = 0;
          for (int32_t id : piece.old_pieces)
            sum += values[static_cast<size_t>(id) * width + column];
          rows[piece.id * width + column] =
              static_cast<float>(sum / static_cast<double>(piece.old_pieces.size()));
        }
      }
    });
  }

 private:
  const CheckpointReader& from_;
  const std::vector<NewPiece>& pieces_;
  Named<ArrayType> types_;
};

void run_extend(Args args, std::ostream& out) {
  ExtendFlags flags;
  if (wants_help(args)) return print_help(kVocabExtendCommand, flags.each(), out);
  auto [tokenizer, config] = flags.conversion.read(args, flags.each());
  const ConversionOptions& o = flags.conversion;
  if (flags.words_file.empty()) throw usage_error("--words_file is needed: the words, one a line");
  require_kept(flags.words_file, o.to, o.format);
  if (tokenizer->byte_bpe()) {
    throw usage_error(
        "--from={}: a RoBERTa's pieces are made by merges, which no list of words gives", o.from);
  }

  Words words = read_words(flags.words_file, *tokenizer);
  std::vector<std::string> tokens = tokenizer->vocabulary().tokens();
  size_t filled = place(words.pieces, tokens);
  ConversionNames names;
  bool heads = o.format != "tf2-encoder";
  std::unique_ptr<CheckpointReader> old =
      conversion_of(open_weights(o.model.weights(), heads), config,
                    {.heads = heads, .training = false}, false, names);
  config.vocab_size = std::max(config.vocab_size, static_cast<int64_t>(tokens.size()));
  ExtendedReader extended(*old, words.pieces, config.vocab_size);
  Tokenizer new_tokenizer(Vocabulary(std::move(tokens), flags.words_file), tokenizer->options());
  write_converted({o.from, o.to, o.format, config, new_tokenizer, extended, o.overwrite});
  if (!words.changed.empty()) {
    log_line("{} of the words are added as the tokenizer changes them: {}", words.changed.size(),
             some_of(words.changed));
  }
  if (words.unknown > 0) {
    log_warning(
        "{} of the words were [UNK], wholly or in part: their rows start as the mean of what is "
        "known, and mean nothing before they are trained",
        words.unknown);
  }
  print_names("unused", names.unused, out);
  out << fmt::format(
      "{} words: {} in the place of [unusedN], {} at the end; {} were pieces already\n"
      "vocab_size = {}\nwritten = {}\n",
      words.pieces.size(), filled, words.pieces.size() - filled, words.known, config.vocab_size,
      o.to);
}

}  // namespace

const Command kVocabExtendCommand = {
    "vocab extend", "adds words to the vocabulary and the table of a trained model",
    "bertrain vocab extend --from=bert-base --words_file=words.txt --to=bert-base-extended",
    run_extend};

}  // namespace bertrain
