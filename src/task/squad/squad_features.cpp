// Tokenizing on all threads, and windows by arithmetic: the k-th starts at k steps.
#include "task/squad/squad_features.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/first_failure.h"
#include "base/log.h"

namespace bertrain {
namespace {

constexpr int64_t kMostTokens = 1'000'000;
constexpr int64_t kSpecials = 3;  // [CLS] question [SEP] context [SEP]

const SquadFeatureOptions& checked(const SquadFeatureOptions& options, const Tokenizer& tokenizer) {
  if (tokenizer.byte_bpe()) {
    throw usage_error(
        "question answering needs a WordPiece vocabulary (vocab.txt), whose pieces can be put back "
        "together; {} is of byte-level BPE",
        tokenizer.vocabulary().name());
  }
  for (auto [name, value] : {std::pair("max_seq_length", options.max_seq_length),
                             std::pair("max_query_length", options.max_query_length)}) {
    if (value >= 1 && value <= kMostTokens) continue;
    throw usage_error("--{}={}: a number from 1 to {} expected", name, value, kMostTokens);
  }
  if (options.doc_stride < 1) {
    throw usage_error("--doc_stride={}: 1 at least expected", options.doc_stride);
  }
  if (options.max_seq_length - kSpecials <= options.max_query_length) {
    throw usage_error(
        "--max_seq_length={}: with --max_query_length={} there is no room for a context; more than "
        "{} is needed, or shorter questions",
        options.max_seq_length, options.max_query_length, options.max_query_length + kSpecials);
  }
  return options;
}

// Runs work(i) for all of [0, count) on the threads of the loops.
template <class Work>
void each_in_parallel(size_t count, const Work& work) {
  FirstFailure failure;
#pragma omp parallel for schedule(dynamic, 64)
  for (size_t i = 0; i < count; ++i) failure.run([&] { work(i); });
  failure.rethrow();
}

// min(left, right) + 0.01 · length: how much of a window stands around a piece (the reference's
// score, in double as there, because ties are decided by it).
double context_score(uint64_t begin, uint64_t length, uint64_t piece) {
  uint64_t left = piece - begin, right = begin + length - 1 - piece;
  return static_cast<double>(std::min(left, right)) + 0.01 * static_cast<double>(length);
}

}  // namespace

SquadFeatures::SquadFeatures(std::shared_ptr<const SquadData> data, const Tokenizer& tokenizer,
                             const SquadFeatureOptions& options, bool training)
    : data_(std::move(data)),
      options_(checked(options, tokenizer)),
      classify_(tokenizer.vocabulary().id(tokenizer.special().classify)),
      separate_(tokenizer.vocabulary().id(tokenizer.special().separate)) {
  tokenize(tokenizer);
  ask(tokenizer, training);
}

void SquadFeatures::tokenize(const Tokenizer& tokenizer) {
  contexts_.resize(data_->contexts.size());
  each_in_parallel(contexts_.size(), [&](size_t i) {
    const SquadContext& source = data_->contexts[i];
    Context& context = contexts_[i];
    context.first_piece.reserve(source.words.size());
    for (size_t w = 0; w < source.words.size(); ++w) {
      context.first_piece.push_back(static_cast<uint32_t>(context.ids.size()));
      tokenizer.append_ids(source.word(w), context.ids);  // each word on its own
      context.word.resize(context.ids.size(), static_cast<uint32_t>(w));
    }
    context.ids.shrink_to_fit();
    context.word.shrink_to_fit();
  });
}

void SquadFeatures::ask(const Tokenizer& tokenizer, bool training) {
  questions_.resize(data_->questions.size());
  std::vector<uint8_t> was_cut(questions_.size()), vanished(questions_.size());
  each_in_parallel(questions_.size(), [&](size_t i) {
    const SquadQuestion& source = data_->questions[i];
    Question& question = questions_[i];
    tokenizer.append_ids(source.text, question.ids);
    auto most = static_cast<size_t>(options_.max_query_length);
    was_cut[i] = question.ids.size() > most;
    if (was_cut[i]) question.ids.resize(most);
    question.ids.shrink_to_fit();
    if (training && !source.is_impossible) vanished[i] = !find_answer(tokenizer, source, question);
  });
  first_window_.assign(1, 0);
  for (size_t i = 0; i < questions_.size(); ++i) {
    uint64_t windows = window_count(i);
    cut_questions += was_cut[i];
    without_windows += windows == 0;
    if (windows > 0 && vanished[i]) {
      ++vanished_answers;
      windows = 0;
    }
    split_answers += windows > 0 && is_split(i);
    first_window_.push_back(first_window_.back() + windows);
  }
}

// From the answer's words to the pieces that are the answer, where such a run is inside them: "1854"
// in "(1854)." (_improve_answer_span). Equal ids are equal pieces, so ids are compared. False: the
// words have no pieces.
bool SquadFeatures::find_answer(const Tokenizer& tokenizer, const SquadQuestion& source,
                                Question& question) {
  const Context& context = contexts_[source.context];
  check(source.first_word >= 0, "the data of features for training were read for training");
  auto after = static_cast<size_t>(source.last_word) + 1;
  int64_t begin = context.first_piece[static_cast<size_t>(source.first_word)];
  int64_t end = after < context.first_piece.size() ? int64_t{context.first_piece[after]}
                                                   : std::ssize(context.ids);
  if (begin >= end) return false;
  std::vector<int32_t> answer = tokenizer.ids(source.answers.front().text);
  auto first = context.ids.begin() + begin, last = context.ids.begin() + end;
  auto found = answer.empty() ? last : std::search(first, last, answer.begin(), answer.end());
  if (found != last) {
    begin += found - first;
    end = begin + std::ssize(answer);
  }
  question.answer_begin = begin;
  question.answer_end = end - 1;
  return true;
}

uint64_t SquadFeatures::room(const Question& question) const {
  return static_cast<uint64_t>(options_.max_seq_length - kSpecials) - question.ids.size();
}

uint64_t SquadFeatures::step(const Question& question) const {
  return std::min(room(question), static_cast<uint64_t>(options_.doc_stride));
}

uint64_t SquadFeatures::window_count(uint64_t question) const {
  uint64_t pieces = contexts_[data_->questions[question].context].ids.size();
  uint64_t fit = room(questions_[question]);
  if (pieces <= fit) return pieces > 0;
  uint64_t advance = step(questions_[question]);
  return 1 + (pieces - fit + advance - 1) / advance;
}

SquadFeatures::Span SquadFeatures::span(uint64_t question, uint64_t window) const {
  uint64_t pieces = contexts_[data_->questions[question].context].ids.size();
  uint64_t begin = window * step(questions_[question]);
  return {begin, std::min(pieces - begin, room(questions_[question]))};
}

// Of the windows that start before the answer the last one reaches farthest.
bool SquadFeatures::is_split(uint64_t question) const {
  const Question& q = questions_[question];
  if (q.answer_begin < 0) return false;
  uint64_t last = static_cast<uint64_t>(q.answer_begin) / step(q);
  Span best = span(question, std::min(last, window_count(question) - 1));
  return static_cast<uint64_t>(q.answer_end) >= best.begin + best.length;
}

void SquadFeatures::mark_max_context(uint64_t question, SquadFeature& feature) const {
  uint64_t windows = window_count(question), mine = feature.window;
  Span own = span(question, mine);
  auto& best = feature.is_max_context;
  best.assign(own.length, 1);
  auto compare = [&](uint64_t other) {  // an earlier window wins where both are equal
    Span their = span(question, other);
    uint64_t from = std::max(own.begin, their.begin);
    uint64_t to = std::min(own.begin + own.length, their.begin + their.length);
    for (uint64_t piece = from; piece < to; ++piece) {
      double a = context_score(own.begin, own.length, piece);
      double b = context_score(their.begin, their.length, piece);
      if (b > a || (b == a && other < mine)) best[piece - own.begin] = 0;
    }
    return from < to;
  };
  for (uint64_t other = mine; other-- > 0 && compare(other);) {
  }
  for (uint64_t other = mine + 1; other < windows && compare(other); ++other) {
  }
}

SquadFeature SquadFeatures::feature(uint64_t window) const {
  check(window < size(), "a window of the file");
  auto after = std::upper_bound(first_window_.begin(), first_window_.end(), window);
  SquadFeature feature;
  feature.unique_id = kFirstUniqueId + static_cast<int64_t>(window);
  feature.question = static_cast<uint64_t>(after - first_window_.begin()) - 1;
  feature.window = window - first_window_[feature.question];
  const SquadQuestion& source = data_->questions[feature.question];
  const Question& question = questions_[feature.question];
  const Context& context = contexts_[source.context];
  Span part = span(feature.question, feature.window);
  auto begin = static_cast<ptrdiff_t>(part.begin),
       end = begin + static_cast<ptrdiff_t>(part.length);

  std::vector<int32_t>& ids = feature.input_ids;
  ids.reserve(question.ids.size() + part.length + kSpecials);
  ids.push_back(classify_);
  ids.insert(ids.end(), question.ids.begin(), question.ids.end());
  ids.push_back(separate_);
  feature.first = ids.size();
  ids.insert(ids.end(), context.ids.begin() + begin, context.ids.begin() + end);
  ids.push_back(separate_);
  feature.word.assign(context.word.begin() + begin, context.word.begin() + end);
  mark_max_context(feature.question, feature);
  feature.is_impossible = source.is_impossible;
  if (question.answer_begin >= begin && question.answer_end < end) {
    int64_t shift = static_cast<int64_t>(feature.first) - begin;
    feature.start_position = question.answer_begin + shift;
    feature.end_position = question.answer_end + shift;
  }
  return feature;
}

void SquadFeatures::report() const {
  const std::string& file = data_->name;
  log_line(
      "{}: {} questions on {} contexts, {} of them without an answer; {} windows of up to {} "
      "tokens",
      file, questions_.size(), contexts_.size(), data_->impossible, size(),
      options_.max_seq_length);
  if (cut_questions > 0) {
    log_warning("{}: {} questions are longer than {} pieces and were cut (--max_query_length)",
                file, cut_questions, options_.max_query_length);
  }
  if (without_windows > 0) {
    log_warning("{}: {} questions are asked of a context without any text; their answer is empty",
                file, without_windows);
  }
  if (split_answers > 0) {
    log_warning(
        "{}: {} answers are whole in no window, so that their questions teach \"no answer\"; a "
        "larger --max_seq_length or a smaller --doc_stride helps",
        file, split_answers);
  }
  if (vanished_answers > 0) {
    log_warning("{}: {} questions are left out, because nothing of their answer is left as pieces",
                file, vanished_answers);
  }
}

PaddedSquadFeature pad(const SquadFeature& feature, int64_t max_seq_length) {
  auto length = static_cast<size_t>(max_seq_length);
  check(feature.input_ids.size() <= length, "a window is no longer than what it is padded to");
  PaddedSquadFeature padded{std::vector<int64_t>(length), std::vector<int64_t>(length),
                            std::vector<int64_t>(length)};
  for (size_t i = 0; i < feature.input_ids.size(); ++i) {
    padded.input_ids[i] = feature.input_ids[i];
    padded.input_mask[i] = 1;
    padded.segment_ids[i] = i >= feature.first;
  }
  return padded;
}

}  // namespace bertrain
