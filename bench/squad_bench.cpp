// How long 130,000 made-up questions of SQuAD 2.0's size take from a file to windows. Usage: squad_bench
// [QUESTIONS [MAX_SEQ_LENGTH [DOC_STRIDE]]]
#include <fmt/format.h>

#include "base/json.h"
#include "base/machine.h"
#include "made_up_language.h"
#include "task/squad/squad_features.h"

namespace bertrain {
namespace {

constexpr int kQuestionsPerContext = 5, kContextWords = 120, kQuestionWords = 11;

std::string made_up_file(Language& language, int questions) {
  Json paragraphs = Json::array();
  for (int made = 0; made < questions;) {
    std::string context;
    std::vector<std::pair<std::string, size_t>> starts;
    int count = kContextWords / 2 + static_cast<int>(language.random() % kContextWords);
    for (int w = 0; w < count; ++w) {
      starts.emplace_back(language.word(), context.size());
      context += starts.back().first + (w % 14 == 13 ? ". " : " ");
    }
    Json qas = Json::array();
    for (int q = 0; q < kQuestionsPerContext && made < questions; ++q, ++made) {
      std::string text;
      for (int w = 0; w < kQuestionWords; ++w) text += language.word() + " ";
      bool impossible = made % 3 == 0;
      const auto& [answer, start] = starts[language.random() % starts.size()];
      Json answers = Json::array();
      if (!impossible) answers.push_back({{"text", answer}, {"answer_start", start}});
      qas.push_back({{"question", text + "?"},
                     {"id", fmt::format("{:024x}", made)},
                     {"answers", answers},
                     {"is_impossible", impossible}});
    }
    paragraphs.push_back({{"qas", qas}, {"context", context}});
  }
  return Json{{"version", "v2.0"}, {"data", {{{"title", "t"}, {"paragraphs", paragraphs}}}}}.dump();
}

}  // namespace
}  // namespace bertrain

int main(int argc, char** argv) {
  using namespace bertrain;
  int questions = argc > 1 ? std::stoi(argv[1]) : 130'000;
  SquadFeatureOptions options;
  if (argc > 2) options.max_seq_length = std::stoll(argv[2]);
  if (argc > 3) options.doc_stride = std::stoll(argv[3]);
  int threads = use_threads(0);
  Language language;
  std::string file = made_up_file(language, questions);
  Tokenizer tokenizer((Vocabulary(language.pieces)));
  Clock clock;
  auto data = std::make_shared<SquadData>(parse_squad(file, "made up", SquadUse::training));
  double reading = clock.lap();
  SquadFeatures features(data, tokenizer, options, true);
  double tokenizing = clock.lap();
  uint64_t tokens = 0, answered = 0;
#pragma omp parallel for reduction(+ : tokens, answered)
  for (uint64_t i = 0; i < features.size(); ++i) {
    SquadFeature feature = features.feature(i);
    tokens += feature.input_ids.size();
    answered += feature.start_position > 0;
  }
  double making = clock.lap();
  fmt::print(
      "{} threads, {} MB: read {:.2f} s, tokenized {:.2f} s, {} windows of {} tokens made {:.2f} s "
      "({} "
      "with the answer); in all {:.2f} s, at most {} MB of memory\n",
      threads, file.size() / 1'000'000, reading, tokenizing, features.size(), tokens, making,
      answered, reading + tokenizing + making, peak_memory() / 1'000'000);
}
