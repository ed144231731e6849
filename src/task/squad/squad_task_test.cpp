// Question answering as a task: windows to rows in order, scores, and what a model remembers.
#include "task/squad/squad_task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/rng.h"
#include "storage/storage.h"
#include "task/tiny_config.h"

namespace bertrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Strings = std::vector<std::string>;

std::unique_ptr<Task> make(const SquadOptions& options, const Json* description = nullptr) {
  auto tokenizer = std::make_shared<Tokenizer>(Vocabulary(
      {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "d", "who", "?"}, "toy"));
  return make_squad(options, tiny_config(11, 32), tokenizer, description);
}

// Paragraphs of (context, answers); an answer of place -1 makes its question impossible.
struct Asked {
  std::string context;
  std::vector<std::pair<std::string, int>> answers;
};

std::string write(const std::string& name, const std::vector<Asked>& paragraphs) {
  Json list = Json::array();
  int number = 0;
  for (const Asked& p : paragraphs) {
    Json qas = Json::array();
    for (const auto& [text, start] : p.answers) {
      Json answers = Json::array();
      if (start >= 0) answers.push_back({{"text", text}, {"answer_start", start}});
      qas.push_back({{"id", fmt::format("q{}", number++)},
                     {"question", "who ?"},
                     {"answers", answers},
                     {"is_impossible", start < 0}});
    }
    list.push_back({{"context", p.context}, {"qas", qas}});
  }
  Json file = {{"version", "1.1"}, {"data", {{{"title", "t"}, {"paragraphs", list}}}}};
  std::string uri = "mem://squad_task/" + name;
  write_text(uri, file.dump());
  return uri;
}

SquadOptions short_windows() {
  SquadOptions options;
  options.max_seq_length = 10;  // 5 pieces of the context
  options.doc_stride = 3;
  options.max_query_length = 4;
  return options;
}

// Ids and answers of the rows, where the logits at the windows' token `favourite` are the largest; windows come
// in batches of `batch_size`, the batches in the order that `backwards` says.
std::vector<std::pair<std::string, std::string>> rows_of(const Task& task, size_t batch_size,
                                                         int64_t favourite, bool backwards) {
  std::vector<Example> examples = rest_of(*task.examples("test"));
  std::vector<Batch> batches;
  for (size_t i = 0; i < examples.size(); i += batch_size) {
    auto some =
        std::span<const Example>(examples).subspan(i, std::min(batch_size, examples.size() - i));
    PackOptions how;
    how.capacities = {{1, 400, 40, 0}};
    how.keep_notes = true;
    for (Batch& b : pack(some, task.schema(), how, static_cast<int64_t>(i)))
      batches.push_back(std::move(b));
  }
  if (backwards) std::reverse(batches.begin(), batches.end());
  std::unique_ptr<Rows> rows = task.rows();
  std::vector<std::pair<std::string, std::string>> found;
  for (const Batch& batch : batches) {
    int64_t length = task.max_seq_length();
    std::vector<float> logits(40 * static_cast<size_t>(length), -1e30F);
    auto ids = batch.arrays.at("input_ids").as<int32_t>();
    auto owner = batch.arrays.at("example").as<int32_t>();
    auto position = batch.arrays.at("position").as<int32_t>();
    for (size_t s = 0; s < ids.size(); ++s) {
      if (owner[s] < 0) continue;
      auto at = static_cast<size_t>(owner[s] * length + position[s]);
      logits[at] = ids[s] == favourite ? 5.0F : -static_cast<float>(position[s]);
    }
    Array all = make_array<float>({40, length}, logits);
    rows->add(batch, {{"start_logits", all}, {"end_logits", all}});
    while (auto row = rows->next()) {
      found.emplace_back(strings(*row, "id").at(0), strings(*row, "answer").at(0));
    }
  }
  return found;
}

TEST(SquadTask, WindowsHaveTheirQuestionSegmentsAndPlaces) {
  SquadOptions options = short_windows();
  options.train_file = write("train.json", {{"a a b b c c d", {{"d", 12}, {"b b", 4}}}});
  auto task = make(options);
  EXPECT_THAT(task->splits(), ElementsAre("train"));
  EXPECT_EQ(task->count("train"), 4u);
  std::vector<Example> train = rest_of(*task->examples("train"));
  ASSERT_EQ(train.size(), 4u);
  EXPECT_THAT(integers(train[1], "input_ids"), ElementsAre(2, 9, 10, 3, 6, 7, 7, 8, 3));
  EXPECT_THAT(integers(train[1], "segment_ids"), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1, 1));
  EXPECT_THAT(integers(train[0], "start_position"), ElementsAre(0));  // not in it
  EXPECT_THAT(integers(train[1], "start_position"), ElementsAre(7));
  EXPECT_THAT(integers(train[2], "start_position"), ElementsAre(6));
  EXPECT_THAT(integers(train[2], "end_position"), ElementsAre(7));
  EXPECT_THAT(integers(train[3], "row"), ElementsAre(1));
  EXPECT_EQ(task->row_name(1), "q1");
  EXPECT_EQ(task->padded_length(), 0);
  options.span_loss = "padded";
  EXPECT_EQ(make(options)->padded_length(), 10);
}

TEST(SquadTask, OneRowAQuestionInOrderWhateverTheBatches) {
  std::vector<std::pair<std::string, std::string>> wanted;
  for (size_t questions : {0u, 1u, 3u, 4u, 5u}) {
    std::vector<Asked> paragraphs;
    wanted.clear();
    for (size_t i = 0; i < questions; ++i) {
      // The second has no text, so no window.
      paragraphs.push_back({i == 1 ? " " : i % 2 ? "b d" : "a a b b c c d a b", {{"d", 0}}});
      wanted.emplace_back(fmt::format("q{}", i), i == 1 ? "" : "d");
    }
    SquadOptions options = short_windows();
    options.test_file = write("test.json", paragraphs);
    auto task = make(options);
    for (size_t batch_size : {1u, 3u, 4u, 40u}) {
      for (bool backwards : {false, true}) {
        EXPECT_EQ(rows_of(*task, batch_size, 8, backwards), wanted) << questions << batch_size;
      }
    }
  }
}

TEST(SquadTask, RowsKeepEveryDigit) {
  SquadPrediction prediction = {
      .text = "a", .n_best = {{"a", 1.0 / 3, 0.1F, -7.5F}, {}}, .null_odds = 0.1 + 0.2};
  SquadPrediction again = squad_prediction_of(squad_row("q", 3, prediction));
  EXPECT_EQ(again.null_odds, prediction.null_odds);
  ASSERT_EQ(again.n_best.size(), 2u);
  EXPECT_EQ(again.n_best[0].probability, 1.0 / 3);
  EXPECT_EQ(again.n_best[0].start_logit, double{0.1F});
}

TEST(SquadTask, ScoresAreTheOfficialOnes) {
  SquadOptions options = short_windows();
  options.dev_file = write("dev.json", {{"a b c", {{"a", 0}, {"b c", 2}, {"c", 4}}}});
  auto scorer = make(options)->scorer();
  EXPECT_EQ(scorer->result()["eval_f1"], 0.0);  // of nothing
  scorer->add(squad_row("q0", 0, {"b", {}, 0}));
  scorer->add(squad_row("q1", 1, {"b", {}, 0}));
  Json scores = scorer->result();  // an evaluation that was cut short
  EXPECT_EQ(scores["eval_exact_match"], 0.0);
  EXPECT_NEAR(scores["eval_f1"].get<double>(), 100 * (2.0 / 3) / 2, 1e-12);
  EXPECT_EQ(scores["eval_count"], 2u);
  EXPECT_FALSE(scores.contains("eval_NoAns_f1"));
}

TEST(SquadTask, DoubtsAModelThatAnswersAllWithNothing) {
  SquadOptions options = short_windows();
  std::vector<std::pair<std::string, int>> answers(20, {"b c", 2});
  for (int i = 0; i < 5; ++i) answers[static_cast<size_t>(i)] = {"", -1};
  options.dev_file = write("doubt.json", {{"a b c", answers}});
  auto task = make(options);
  auto nothing = task->scorer(), right = task->scorer();
  for (int64_t i = 0; i < 20; ++i) {
    std::string id = fmt::format("q{}", i);
    nothing->add(squad_row(id, i, {"", {}, 0}));
    right->add(squad_row(id, i, {i < 5 ? "" : "b c", {}, 0}));
  }
  EXPECT_THAT(nothing->doubt(), HasSubstr("100.0 % of the questions are answered with nothing by "
                                          "the model, which 25.0 % are"));
  EXPECT_EQ(right->doubt(), "");
}

TEST(SquadTask, VersionTwoIsTakenFromTheDataAndRemembered) {
  SquadOptions options = short_windows();
  options.train_file = write("train.json", {{"a b c", {{"c", 4}, {"", -1}}}});
  auto trained = make(options);
  Json description = trained->describe();
  EXPECT_EQ(description["version_2_with_negative"], true);
  options = {};
  options.dev_file = write("dev.json", {{"a b c", {{"c", 4}}}});
  auto task = make(options, &description);
  EXPECT_EQ(task->max_seq_length(), 10);
  EXPECT_EQ(task->describe(), description);
  auto scorer = task->scorer();
  scorer->add(squad_row("q0", 0, {"", {}, 2}));
  Json scores = scorer->result();
  EXPECT_EQ(scores["eval_exact_match"], 0.0);
  EXPECT_EQ(scores["eval_HasAns_exact"], 0.0);
  EXPECT_EQ(scores["eval_NoAns_f1"], 0.0);  // as many scores for any data

  std::string answerable = options.dev_file;
  options = short_windows();
  options.train_file = answerable;
  EXPECT_EQ(make(options)->describe()["version_2_with_negative"], false);
  options.version_2_with_negative = true;
  EXPECT_EQ(make(options)->describe()["version_2_with_negative"], true);
}

TEST(SquadTask, TakesThePartThatIsAskedFor) {
  SquadOptions options = short_windows();
  std::vector<Asked> paragraphs(40, {"a b", {{"b", 2}}});
  options.train_file = write("train.json", paragraphs);
  options.limit = 7;
  EXPECT_EQ(make(options)->count("train"), 7u);
  options.limit = 0;
  options.train_fraction = 0.5;
  uint64_t half = make(options)->count("train").value();
  EXPECT_GT(half, 10u);
  EXPECT_LT(half, 30u);
}

TEST(SquadTask, RefusesWhatCannotBe) {
  SquadOptions options = short_windows();
  options.train_file = write("train.json", {{"a b c", {{"c", 4}, {"", -1}}}});
  options.version_2_with_negative = false;
  EXPECT_THAT([&] { make(options); },
              ThrowsMessage<Error>(HasSubstr("has 1 questions without an answer")));
  options.version_2_with_negative = {};
  auto refused = [&](auto change, const char* what) {
    SquadOptions wrong = options;
    change(wrong);
    EXPECT_THAT([&] { make(wrong); }, ThrowsMessage<Error>(HasSubstr(what)));
  };
  refused([](SquadOptions& o) { o.span_loss = "both"; }, "tokens or padded expected");
  refused([](SquadOptions& o) { o.score_unit = "piece"; }, "word or character expected");
  refused([](SquadOptions& o) { o.null_score_diff_threshold = "1x"; }, "a finite number expected");
  refused([](SquadOptions& o) { o.doc_stride = -1; }, "--doc_stride=-1: a number from 1");
  refused([](SquadOptions& o) { o.max_seq_length = 33; }, "beyond the model's 32 positions");
  refused([](SquadOptions& o) { o.max_query_length = 7; }, "max_query_length");
  refused([](SquadOptions& o) { o.limit = -1; }, "--limit=-1");
  refused([](SquadOptions& o) { o.train_fraction = 0; }, "--train_fraction=0");
  refused(
      [](SquadOptions& o) {
        o.train_file = write("blank.json", {{" ", {{"", -1}}}});
      },
      "no question with a context is left");
}

}  // namespace
}  // namespace bertrain
