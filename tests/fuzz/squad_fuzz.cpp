// Any bytes as questions on contexts, read for each use, and what was read as windows.
#include "fuzz_input.h"
#include "task/squad/squad_features.h"

namespace bertrain {
namespace {

const Tokenizer& toy() {
  static const Tokenizer tokenizer(
      Vocabulary::parse("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##a\nb\n##b\nc\n.\n", "v"), {});
  return tokenizer;
}

void require_words(const SquadContext& context) {
  uint32_t end = 0;
  for (size_t w = 0; w < context.words.size(); ++w) {
    const SquadContext::Word& word = context.words[w];
    check(word.begin >= end && word.end > word.begin && word.end <= context.text.size(),
          "words follow on each other in their text");
    check(context.word_at(word.character) == static_cast<int64_t>(w), "a word is at its place");
    end = word.end;
  }
}

void require_windows(const std::shared_ptr<const SquadData>& data, bool training) {
  SquadFeatureOptions options;
  options.max_seq_length = 16;
  options.doc_stride = 4;
  options.max_query_length = 5;
  SquadFeatures features(data, toy(), options, training);
  for (uint64_t q = 0; q < data->questions.size(); ++q) {
    for (uint64_t w = features.windows_before(q); w < features.windows_before(q + 1); ++w) {
      SquadFeature feature = features.feature(w);
      auto length = static_cast<int64_t>(feature.input_ids.size());
      check(length >= 3 && length <= options.max_seq_length, "a window has its length");
      check(feature.start_position >= 0 && feature.start_position <= feature.end_position &&
                feature.end_position < length,
            "an answer is in its window, or it is [CLS]");
    }
  }
}

void fuzz(std::string_view input) {
  write_text(kFuzzed, input);
  for (SquadUse use : {SquadUse::training, SquadUse::prediction, SquadUse::scoring}) {
    refusing([&] {
      auto data = std::make_shared<SquadData>(read_squad(kFuzzed, use));
      for (const SquadContext& context : data->contexts) require_words(context);
      for (const SquadQuestion& question : data->questions) {
        check(question.context < data->contexts.size(), "a question has a context");
        auto words = static_cast<int64_t>(data->contexts[question.context].words.size());
        check(question.first_word <= question.last_word && question.last_word < words,
              "an answer is in its context");
      }
      require_windows(data, use == SquadUse::training);
    });
  }
}

}  // namespace
}  // namespace bertrain

BERTRAIN_FUZZ(bertrain::fuzz)
