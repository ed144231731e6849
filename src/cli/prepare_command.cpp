// The prepare command: the corpus is read and tokenized, paired and masked in the reference's order, and written.
#include "cli/prepare_command.h"

#include <algorithm>
#include <ostream>

#include "base/error.h"
#include "base/log.h"
#include "base/machine.h"
#include "cli/options.h"
#include "cli/prepare_task.h"
#include "cli/text_options.h"
#include "cli/training_options.h"
#include "data/records.h"
#include "storage/disk_space.h"

namespace bertrain {
namespace {

constexpr int64_t kMaxLength = 1'000'000;

struct PrepareOptions {
  std::string input_file, output_file;
  TextOptions text;
  int64_t max_seq_length = 128, max_predictions_per_seq = 20;
  double masked_lm_prob = 0.15, short_seq_prob = 0.1;
  bool do_whole_word_mask = false;
  int64_t dupe_factor = 10, random_seed = 12345;
  bool gzip_compress = false;
  std::string invalid_utf8 = "error";
  std::string memory;
  int64_t threads = 0;

  EachOption each() {
    return [this](OptionVisitor& v) {
      v("input_file", input_file,
        "texts, a sentence a line, blank lines between documents (comma list of globs, - is "
        "standard input)");
      v("output_file", output_file, "TFRecord files that examples go to in turn (comma list)");
      text.each(v);
      v("max_seq_length", max_seq_length, "longest example in tokens, [CLS] and [SEP] included");
      v("max_predictions_per_seq", max_predictions_per_seq, "most masked tokens in an example");
      v("masked_lm_prob", masked_lm_prob, "share of the tokens that are masked");
      v("short_seq_prob", short_seq_prob,
        "share of the passes over a document that aim at shorter examples");
      v("do_whole_word_mask", do_whole_word_mask, "mask all pieces of a word or none");
      v("dupe_factor", dupe_factor, "passes over the corpus, each with other pairs and masks");
      v("random_seed", random_seed, "equal seeds give equal files");
      v("gzip_compress", gzip_compress, "pack the files with gzip");
      v("invalid_utf8", invalid_utf8, "bytes that are not UTF-8: error, replace or ignore");
      v("threads", threads, "threads; 0 takes what the machine allows");
      v("memory", memory, "limit as 8GiB or 75%; empty: 80% of what the machine or cgroup allows");
    };
  }

  void check_values() const {
    if (input_file.empty()) throw usage_error("--input_file is needed: the texts to read");
    if (output_file.empty()) throw usage_error("--output_file is needed: where examples go");
    require("max_seq_length", max_seq_length, 5, kMaxLength, " ([CLS] a [SEP] b [SEP])");
    require("max_predictions_per_seq", max_predictions_per_seq, 1, kMaxLength,
            ": without one an example teaches nothing");
    require("dupe_factor", dupe_factor, 1, kMaxLength, "");
    require_between("threads", threads, 0, kMaxThreads);
    require_share("masked_lm_prob", masked_lm_prob);
    require_share("short_seq_prob", short_seq_prob);
    parse_invalid_utf8(invalid_utf8);
    parse_memory(memory);
  }

  static void require(std::string_view name, int64_t value, int64_t least, int64_t most,
                      std::string_view reason) {
    if (value < least) throw usage_error("--{}={}: at least {}{}", name, value, least, reason);
    if (value > most) throw usage_error("--{}={}: at most {}", name, value, most);
  }
  static void require_share(std::string_view name, double value) {
    if (!(value >= 0 && value <= 1)) {
      throw usage_error("--{}={}: a share from 0 to 1 is expected", name, value);
    }
  }

  InstanceOptions instance_options() const {
    InstanceOptions o;
    o.pairs = {max_seq_length, short_seq_prob};
    o.masking = {max_predictions_per_seq, masked_lm_prob, do_whole_word_mask};
    o.random_seed = random_seed;
    o.dupe_factor = dupe_factor;
    return o;
  }
};

std::vector<std::string> split_commas(const std::string& list) {
  std::vector<std::string> parts;
  for (size_t start = 0; start <= list.size();) {
    size_t comma = std::min(list.find(',', start), list.size());
    if (comma == start) throw usage_error("--output_file={}: a name is empty", list);
    parts.push_back(list.substr(start, comma - start));
    start = comma + 1;
  }
  return parts;
}

void check_outputs(const std::vector<std::string>& outputs, std::vector<std::string> inputs,
                   const std::string& vocabulary) {
  inputs.push_back(vocabulary);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == "-") {
      throw usage_error("--output_file=-: examples go to files; /dev/stdout is standard output");
    }
    refuse_overwriting(outputs[i], inputs, fmt::format("--output_file={}", outputs[i]));
    for (size_t j = 0; j < i; ++j) {
      if (outputs[i] != outputs[j] && same_object(outputs[i], outputs[j])) {
        throw usage_error("--output_file: {} and {} are one file", outputs[j], outputs[i]);
      }
    }
  }
}

double percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

void report_corpus(const Documents& documents, const CorpusCounts& counts,
                   const Vocabulary& vocabulary) {
  std::span<const int32_t> tokens = documents.tokens({0, documents.total_tokens()});
  auto unknown =
      static_cast<uint64_t>(std::count(tokens.begin(), tokens.end(), vocabulary.id(kUnknown)));
  log_line("corpus: {} files, {} lines, {} documents, {} sentences, {} tokens ({:.2f} % [UNK])",
           counts.files, counts.lines, documents.size(), documents.total_sentences(),
           documents.total_tokens(), percent(unknown, tokens.size()));
  if (counts.repaired > 0) {
    log_warning("{} lines held bytes that are not UTF-8; they were replaced or left out as told",
                counts.repaired);
  }
  if (counts.without_tokens > 0) {
    log_warning("{} lines that are not blank held nothing that makes a token; they were left out",
                counts.without_tokens);
  }
  if (percent(unknown, tokens.size()) > 10) {
    log_warning(
        "{:.1f} % of the tokens are [UNK]: the vocabulary or --do_lower_case may not fit "
        "the text",
        percent(unknown, tokens.size()));
  }
}

void report_instances(const InstanceCounts& counts, const PrepareOptions& options) {
  log_line(
      "instances: {}, of them {} with a random second half; {} masked tokens; {} pairs were "
      "cut to {} tokens, by {} tokens in all",
      counts.instances, counts.random_next, counts.masked, counts.pairs.truncated,
      options.max_seq_length, counts.pairs.cut_tokens);
  if (counts.without_words > 0) {
    log_warning(
        "{} instances have no masked token, as there is nothing in them but {} and {}, which are "
        "never masked",
        counts.without_words, kClassify, kSeparate);
  }
  if (counts.without_mask > counts.without_words) {
    log_warning(
        "{} instances have no masked token, as every word in them is longer than the "
        "number to mask",
        counts.without_mask - counts.without_words);
  }
  if (counts.instances > 0 && counts.masked == 0) {
    throw error("{}: no token of {} instances is masked, so that there is nothing to predict; {}",
                options.input_file, counts.instances,
                counts.without_words < counts.instances
                    ? "a larger --max_predictions_per_seq or --masked_lm_prob is expected"
                    : "text with words is expected");
  }
  if (counts.pairs.kept_in_order > 0) {
    log_warning(
        "the corpus is a single document, so {} pairs that should have had a random second "
        "half are true pairs; blank lines part documents",
        counts.pairs.kept_in_order);
  }
  if (counts.pairs.dropped > 0) {
    log_warning("{} texts of a single token made no pair and were left out", counts.pairs.dropped);
  }
  if (counts.instances == 0) {
    throw error(
        "{}: no example can be made of it: each needs two tokens at least, and a word that the "
        "vocabulary lacks, or that is longer than --max_input_chars_per_word, is one; text of "
        "several words is expected",
        options.input_file);
  }
  double wanted = static_cast<double>(options.max_seq_length) * options.masked_lm_prob;
  if (static_cast<double>(options.max_predictions_per_seq) + 1 <= wanted) {
    log_warning("--max_predictions_per_seq={} masks less than told: {:.0f} tokens are {} of {}",
                options.max_predictions_per_seq, wanted, options.masked_lm_prob,
                options.max_seq_length);
  }
}

// Throws where more is needed than is allowed; `by`: how that is known.
void require_corpus_memory(const CorpusNeeds& needs, std::string_view by,
                           const PrepareOptions& options) {
  uint64_t memory = parse_memory(options.memory);
  if (needs.bytes <= memory) return;
  std::string what = fmt::format("has {} tokens", needs.tokens);
  if (needs.instances > 0) {
    what += fmt::format(", and {} passes over it make {} instances", options.dupe_factor,
                        needs.instances);
  }
  throw error(
      "--input_file={}: {} the corpus {}, which take about {} of memory together with the program, "
      "{} are allowed: lower --dupe_factor, prepare the files in several calls (each with a "
      "--random_seed and an --output_file of its own), or raise --memory where the machine has "
      "more",
      options.input_file, by, what, readable_bytes(needs.bytes), readable_bytes(memory));
}

// The reference's order is that of a shuffle of the whole, so the whole is in memory.
void estimate_corpus_memory(const std::vector<std::string>& inputs, const Tokenizer& tokenizer,
                            const PrepareOptions& options) {
  std::optional<CorpusSample> sample = sample_documents(inputs, tokenizer);
  if (!sample) return;
  CorpusNeeds needs = Instances::needs(*sample, tokenizer.vocabulary(), options.instance_options());
  needs.bytes += resident_memory();
  require_corpus_memory(needs, "by a sample,", options);
}

void run_prepare(Args args, std::ostream& out) {
  if (names_task(args)) return run_prepare_task(args, out);
  PrepareOptions options;
  if (wants_help(args)) return print_help(kPrepareCommand, options.each(), out);
  parse_only_options(args, options.each());
  options.check_values();
  std::vector<std::string> outputs = split_commas(options.output_file);
  std::vector<std::string> inputs = expand_globs(options.input_file);
  check_outputs(outputs, inputs, options.text.vocab_file);
  use_threads(options.threads);
  Tokenizer tokenizer = options.text.tokenizer({kUnknown, kClassify, kSeparate, kMask});
  if (tokenizer.byte_bpe()) {
    throw usage_error(
        "--vocab_file={}: prepare makes BERT's examples of sentence pairs, which a RoBERTa is not "
        "trained on; a vocab.txt expected",
        options.text.vocab_file);
  }
  estimate_corpus_memory(inputs, tokenizer, options);
  RecordFiles files(outputs, options.gzip_compress);

  CorpusCounts counts;
  // What no estimate foresaw (a pipe, a text that is packed well) is seen as it grows.
  Documents documents = read_documents(
      inputs, tokenizer, parse_invalid_utf8(options.invalid_utf8), counts,
      [&](const CorpusNeeds& n) { require_corpus_memory(n, "as far as it is read,", options); });
  if (documents.size() == 0) {
    throw error("{}: no text in {} lines; sentences, one a line, are expected", options.input_file,
                counts.lines);
  }
  report_corpus(documents, counts, tokenizer.vocabulary());
  Instances instances(
      documents, tokenizer.vocabulary(), options.instance_options(),
      [&](const CorpusNeeds& n) { require_corpus_memory(n, "by what is made of it,", options); });
  report_instances(instances.counts(), options);
  files.write(instances, {options.max_seq_length, options.max_predictions_per_seq});
  out << fmt::format("wrote {} instances to {}\n", instances.size(), fmt::join(outputs, ", "));
}

}  // namespace

const Command kPrepareCommand = {
    "prepare", "text to pre-training examples, or with --task a task's rows to records",
    "bertrain prepare --input_file=corpus.txt --output_file=train.tfrecord --vocab_file=vocab.txt\n"
    "bertrain prepare --input_file='wiki/*.txt.gz' --output_file=a.tfrecord,b.tfrecord "
    "--vocab_file=vocab.txt --max_seq_length=512 --max_predictions_per_seq=76\n"
    "bertrain prepare --task=classification --train_file=train.tsv --dev_file=dev.tsv "
    "--vocab_file=vocab.txt --train_data_output_path=train.tfrecord "
    "--eval_data_output_path=eval.tfrecord --meta_data_file_path=meta.json\n"
    "bertrain prepare --task=squad --help",
    run_prepare};

}  // namespace bertrain
