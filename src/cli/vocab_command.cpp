// The vocab command: counts the words of text files on all threads and trains a vocabulary on them.
#include "cli/vocab_command.h"

#include <algorithm>
#include <ostream>
#include <span>

#include "base/error.h"
#include "base/log.h"
#include "base/machine.h"
#include "cli/options.h"
#include "cli/vocab_extend.h"
#include "storage/storage.h"
#include "text/unicode.h"
#include "text/vocabulary_trainer.h"
#include "text/wordpiece.h"

namespace bertrain {
namespace {

// Lines are read in batches of this many bytes, each counted on all threads.
constexpr size_t kBatchBytes = size_t{16} << 20;

struct VocabOptions {
  std::string input_file, output_file;
  int64_t vocab_size = 30522;
  bool do_lower_case = true;
  std::optional<bool> strip_accents;
  int64_t limit_alphabet = 1000;
  int64_t min_frequency = 2;
  std::string invalid_utf8 = "error";
  int64_t threads = 0;

  EachOption each() {
    return [this](OptionVisitor& v) {
      v("input_file", input_file,
        "text files: a comma list of names and globs, - is standard input");
      v("output_file", output_file, "where the vocabulary goes, one piece a line");
      v("vocab_size", vocab_size, "pieces, the five special ones included");
      v("do_lower_case", do_lower_case,
        "lower-case the text; say the same when the vocabulary is used");
      v("strip_accents", strip_accents, "remove accents; if not given, as do_lower_case");
      v("limit_alphabet", limit_alphabet, "most frequent characters that get a piece of their own");
      v("min_frequency", min_frequency, "pairs that stand less often are not joined to a piece");
      v("invalid_utf8", invalid_utf8, "bytes that are not UTF-8: error, replace or ignore");
      v("threads", threads, "threads that count words; 0: all cores");
    };
  }
};

struct Corpus {
  std::vector<WordCount> words;
  uint64_t lines = 0, repaired = 0;
};

Corpus count_words(const VocabOptions& o, const std::vector<std::string>& files) {
  InvalidUtf8 invalid = parse_invalid_utf8(o.invalid_utf8);
  WordCounter counter(o.do_lower_case, o.strip_accents.value_or(o.do_lower_case),
                      use_threads(o.threads));
  Corpus corpus;
  std::vector<std::string> batch;
  size_t bytes = 0;
  auto count_batch = [&] {
    counter.add(batch);
    batch.clear();
    bytes = 0;
  };
  for (const std::string& uri : files) {
    auto lines = read_lines(uri);
    std::string line;
    while (lines->next(line)) {
      ++corpus.lines;
      // The place is made only for a line that needs it: most of the time would go there.
      if (find_invalid_utf8(line)) {
        repair_utf8(line, invalid, fmt::format("{}:{}", uri, lines->line_number()));
        ++corpus.repaired;
      }
      bytes += line.size();
      batch.push_back(std::move(line));
      if (bytes >= kBatchBytes) count_batch();
    }
  }
  count_batch();
  corpus.words = counter.finish();
  return corpus;
}

int64_t total(const std::vector<WordCount>& words) {
  int64_t sum = 0;
  for (const WordCount& w : words) sum += w.count;
  return sum;
}

void report_alphabet(const TrainedVocabulary& trained, const VocabOptions& o) {
  if (trained.characters_kept == trained.characters) return;
  log_warning(
      "{} of {} characters are in the vocabulary, and all those of {:.2f} % of the words; the "
      "others are [UNK] (cut first: {}); a larger --limit_alphabet (now {}) or --vocab_size keeps "
      "more",
      trained.characters_kept, trained.characters, 100 * trained.coverage, trained.cut,
      o.limit_alphabet);
}

// How compactly the text that it was made from is cut: one line that tells whether the size was well chosen.
std::string compactness(const Corpus& corpus, const TrainedVocabulary& trained) {
  // The words are normalized already, and must not be again: ς would turn back.
  WordPiece wordpiece(Vocabulary(trained.tokens), 200);
  std::vector<WordPieceMatch> matches;
  int64_t pieces = 0, unknown = 0;
  for (const WordCount& w : corpus.words) {
    wordpiece.match(w.word, matches);
    pieces += w.count * static_cast<int64_t>(matches.size());
    if (matches[0].id == wordpiece.unknown()) unknown += w.count;
  }
  auto words = static_cast<double>(total(corpus.words));
  return fmt::format("{:.3f} pieces a word, {:.3f} % of the words [UNK]",
                     static_cast<double>(pieces) / words,
                     100 * static_cast<double>(unknown) / words);
}

void run_vocab(Args args, std::ostream& out) {
  if (!args.empty() && args[0] == "extend") return kVocabExtendCommand.run(args.subspan(1), out);
  VocabOptions o;
  if (wants_help(args)) return print_help(kVocabCommand, o.each(), out);
  parse_only_options(args, o.each());
  if (o.input_file.empty()) throw usage_error("--input_file is needed: the text to learn from");
  if (o.output_file.empty())
    throw usage_error("--output_file is needed: where the vocabulary goes");
  require_between("threads", o.threads, 0, kMaxThreads);
  VocabularyTrainerOptions trainer = {.vocab_size = o.vocab_size,
                                      .limit_alphabet = o.limit_alphabet,
                                      .min_frequency = o.min_frequency};
  check_options(trainer);
  std::vector<std::string> files = expand_globs(o.input_file);
  refuse_overwriting(o.output_file, files, fmt::format("--output_file={}", o.output_file));
  // Made first, so that a place that cannot be written to is known before the work; it appears whole at the end.
  auto writer = storage_for(o.output_file).create(o.output_file, Exists::replace);
  Corpus corpus = count_words(o, files);
  if (corpus.repaired) {
    log_warning("{} of {} lines had bytes that are not UTF-8; --invalid_utf8={} was applied",
                corpus.repaired, corpus.lines, o.invalid_utf8);
  }
  if (corpus.words.empty()) {
    throw error("{}: no words in {} lines; a vocabulary needs text", o.input_file, corpus.lines);
  }
  out << fmt::format("{} lines, {} words, {} distinct\n", corpus.lines, total(corpus.words),
                     corpus.words.size());
  TrainedVocabulary trained = train_vocabulary(corpus.words, trainer);
  report_alphabet(trained, o);
  if (trained.exhausted) {
    log_warning(
        "{} pieces instead of {}: no pair of pieces stands {} times any more; more text or a "
        "smaller --min_frequency gives more",
        trained.tokens.size(), o.vocab_size, o.min_frequency);
  }
  std::string text;
  for (const std::string& token : trained.tokens) text += token + "\n";
  writer->append(std::as_bytes(std::span(text)));
  writer->commit();
  out << fmt::format("{} pieces in {}: {}\n", trained.tokens.size(), o.output_file,
                     compactness(corpus, trained));
}

}  // namespace

const Command kVocabCommand = {
    "vocab", "builds a WordPiece vocabulary from text",
    "bertrain vocab --input_file=corpus.txt --output_file=vocab.txt --vocab_size=8192\n"
    "bertrain vocab --input_file='text/*.txt,more.gz' --output_file=vocab.txt "
    "--do_lower_case=false\n"
    "bertrain vocab extend --help      adds words to a trained model",
    run_vocab};

}  // namespace bertrain
