// SQuAD's layout: words and answers as run_squad.py finds them, what is missing or contradictory, damaged
// files.
#include "task/squad/squad_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Json file_of(const std::string& context, Json qas) {
  Json paragraph = {{"context", context}, {"qas", std::move(qas)}};
  return {{"version", "1.1"},
          {"data", {{{"title", "t"}, {"paragraphs", Json::array({paragraph})}}}}};
}

Json question(const std::string& id, Json answers) {
  return {{"id", id}, {"question", "who ?"}, {"answers", std::move(answers)}};
}

Json answer(const std::string& text, int64_t start) {
  return {{"text", text}, {"answer_start", start}};
}

SquadData training(const Json& json) {
  return parse_squad(json.dump(), "x.json", SquadUse::training);
}

std::vector<std::string> words_of(const std::string& text) {
  SquadContext context(text);
  std::vector<std::string> words;
  for (size_t i = 0; i < context.words.size(); ++i) words.emplace_back(context.word(i));
  return words;
}

std::string message(const Json& json, SquadUse use = SquadUse::training) {
  try {
    parse_squad(json.dump(), "x.json", use);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

// What was logged while it lives.
struct Log {
  std::string text;
  LogSink sink{[this](std::string_view line) { text += std::string(line) + "\n"; }};
};

TEST(SquadContext, FourAsciiBlanksAndOneMoreSeparateWords) {
  EXPECT_THAT(words_of(" a\tb\r\nc  d\u202fe\u00a0f\u3000g "),
              ElementsAre("a", "b", "c", "d", "e\u00a0f\u3000g"));
  EXPECT_THAT(words_of(""), IsEmpty());
  EXPECT_THAT(words_of(" \n"), IsEmpty());
}

TEST(SquadContext, PlacesAreCodePoints) {
  SquadContext context(" é東 ab");
  EXPECT_EQ(context.characters, 6u);
  std::vector<int64_t> at;
  for (uint64_t i = 0; i < context.characters; ++i) at.push_back(context.word_at(i));
  EXPECT_THAT(at, ElementsAre(-1, 0, 0, 0, 1, 1));
  EXPECT_EQ(context.joined(0, 1), "é東 ab");
}

TEST(SquadData, FirstAndLastWordAreAnswers) {
  SquadData data = training(file_of(
      "Paris is big", {question("a", {answer("Paris", 0)}), question("b", {answer("big", 9)})}));
  ASSERT_EQ(data.questions.size(), 2u);
  EXPECT_EQ(data.questions[0].first_word, 0);
  EXPECT_EQ(data.questions[0].last_word, 0);
  EXPECT_EQ(data.questions[1].first_word, 2);
  EXPECT_EQ(data.questions[1].last_word, 2);
  EXPECT_EQ(data.version, "1.1");
  EXPECT_EQ(data.impossible, 0u);
}

TEST(SquadData, AnAnswerMayHoldANarrowNoBreakSpace) {
  SquadData data =
      training(file_of("5\u202f000 euros", {question("a", {answer("5\u202f000", 0)})}));
  ASSERT_EQ(data.questions.size(), 1u);
  EXPECT_EQ(data.contexts[0].joined(0, static_cast<size_t>(data.questions[0].last_word)), "5 000");
}

TEST(SquadData, AnAnswerMayBeginWithTheBlanksOfTheContext) {
  SquadData data = training(file_of("  Paris is", {question("a", {answer(" Paris", 1)})}));
  ASSERT_EQ(data.questions.size(), 1u);
  EXPECT_EQ(data.questions[0].first_word, 0);
}

// S08.
TEST(SquadData, NoAnswersMeansImpossibleWithoutAFlag) {
  SquadData data = training(file_of("a b", {question("q", Json::array())}));
  EXPECT_TRUE(data.questions.at(0).is_impossible);
  EXPECT_EQ(data.impossible, 1u);
}

TEST(SquadData, DataOfVersionOneAreAnswerable) {
  SquadData data = training(file_of("a b", {question("q", {answer("a", 0)})}));
  EXPECT_FALSE(data.questions.at(0).is_impossible);
}

TEST(SquadData, TheFlagCountsMoreThanAnswers) {
  Json q = question("q", {answer("a", 0)});
  q["is_impossible"] = true;
  SquadData data = training(file_of("a b", {q}));
  EXPECT_TRUE(data.questions.at(0).is_impossible);
  q["answers"] = Json::array();
  q["is_impossible"] = false;
  Log log;
  EXPECT_TRUE(training(file_of("a b", {q})).questions.at(0).is_impossible);
  EXPECT_THAT(log.text, HasSubstr("although is_impossible is false"));
}

TEST(SquadData, OfSeveralAnswersTheFirstIsLearnedAndTheyAreCounted) {
  Log log;
  Json file = file_of("a b", {question("q", {answer("b", 2), answer("a", 0)})});
  SquadData data = training(file);
  EXPECT_EQ(data.several_answers, 1u);
  EXPECT_EQ(data.questions.at(0).first_word, 1);
  EXPECT_THAT(log.text, HasSubstr("1 questions have more than one answer"));
  log.text.clear();
  parse_squad(file.dump(), "x.json", SquadUse::scoring);
  EXPECT_EQ(log.text, "");
}

TEST(SquadData, AnAnswerThatIsNotThereIsLeftOutAndSaid) {
  Log log;
  SquadData data = training(
      file_of("a b c", {question("one", {answer("c", 0)}), question("two", {answer("", 0)}),
                        question("three", {answer("c", 4)})}));
  ASSERT_EQ(data.questions.size(), 1u);
  EXPECT_EQ(data.questions[0].id, "three");
  EXPECT_EQ(data.not_found, 2u);
  EXPECT_THAT(log.text, HasSubstr("x.json: 2 questions are left out"));
  EXPECT_THAT(log.text, HasSubstr("question 'one': 'c' expected, 'a' there"));
}

TEST(SquadData, PredictionNeedsNoAnswersScoringNoPlaces) {
  Json q = {{"id", "q"}, {"question", "who"}};
  Json file = file_of("a b", {q});
  SquadData data = parse_squad(file.dump(), "x.json", SquadUse::prediction);
  EXPECT_FALSE(data.questions.at(0).is_impossible);
  EXPECT_THAT(message(file), HasSubstr("x.json: data.0.paragraphs.0.qas.0.answers is missing"));
  EXPECT_THAT(message(file, SquadUse::scoring), HasSubstr("qas.0.answers is missing"));
  q["answers"] = Json::array({{{"text", "a"}}});
  file = file_of("a b", {q});
  data = parse_squad(file.dump(), "x.json", SquadUse::scoring);
  EXPECT_EQ(data.questions.at(0).answers.at(0).start, -1);
  EXPECT_THAT(message(file), HasSubstr("answers.0.answer_start is missing"));
}

TEST(SquadData, RepeatedIdsAreSaid) {
  Log log;
  parse_squad(file_of("a", {question("q", Json::array()), question("q", Json::array())}).dump(),
              "x", SquadUse::prediction);
  EXPECT_THAT(log.text, HasSubstr("1 questions have the id of an earlier one, as 'q'"));
}

TEST(SquadData, ErrorsNameFileAndKey) {
  EXPECT_THAT(message(Json::object()), HasSubstr("x.json: data is missing"));
  EXPECT_THAT(message({{"data", Json::array()}}), HasSubstr("there is no question in it"));
  EXPECT_THAT(message(file_of("a b", {question("q", {answer("x", 0)})})),
              HasSubstr("none of its 1 questions can be learned from, because no answer is where "
                        "answer_start (in characters from 0) says in the context; the first is "
                        "question 'q': 'x' expected, 'a' there"));
  EXPECT_THAT(message({{"data", {{{"paragraphs", 3}}}}}),
              HasSubstr("x.json: data.0.paragraphs is 3; a list expected"));
  Json q = question("q", {answer("b", 2)});
  q.erase("question");
  EXPECT_THAT(message(file_of("a b", {q})),
              HasSubstr("data.0.paragraphs.0.qas.0.question is missing"));
  EXPECT_THAT(message(file_of("a b", {question("q", {answer("b", 3)})})),
              HasSubstr("qas.0.answers.0.answer_start is 3; a whole number from 0 to 2 expected"));
  EXPECT_THAT(message(file_of("a b", {question("q", {answer("b c", 2)})})),
              HasSubstr("qas.0.answers.0.text is \"b c\"; a text that ends within the context"));
  for (int start : {0, 4}) {
    EXPECT_EQ(
        message(file_of("", {question("q", {answer("b", start)})})),
        "x.json: data.0.paragraphs.0.context is \"\"; a text that holds the answer to question "
        "'q' expected");
  }
  EXPECT_THAT(message(file_of("a b", {question("q", {answer("a", -1)})})),
              HasSubstr("from 0 to 2"));
  EXPECT_THROW(parse_squad("{\"data\": [", "x.json", SquadUse::training), Error);
}

TEST(SquadData, ReadsFilesOfBothVersions) {
  std::string folder = BERTRAIN_TEST_DATA "/squad/";
  SquadData one = read_squad(folder + "squad-v1.json", SquadUse::training);
  EXPECT_EQ(one.questions.size(), 13u);
  EXPECT_EQ(one.contexts.size(), 3u);
  EXPECT_EQ(one.impossible, 0u);
  SquadData two = read_squad(folder + "squad-v2.json", SquadUse::training);
  EXPECT_EQ(two.questions.size(), 12u);
  EXPECT_EQ(two.impossible, 3u);
  EXPECT_EQ(two.version, "v2.0");
}

// Cut anywhere, or with any byte changed, a file is read or refused; nothing else.
TEST(SquadData, DamagedFilesAreRefusedInWords) {
  std::string whole = read_text(BERTRAIN_TEST_DATA "/squad/squad-v2.json");
  LogSink quiet([](std::string_view) {});
  int refused = 0;
  auto read = [&](const std::string& json, SquadUse use) {
    try {
      SquadData data = parse_squad(json, "x.json", use);
      for (const SquadQuestion& q : data.questions) {
        ASSERT_LT(q.context, data.contexts.size());
        ASSERT_LT(q.last_word, std::ssize(data.contexts[q.context].words));
      }
    } catch (const Error& e) {
      ++refused;
      ASSERT_THAT(e.what(), HasSubstr("x.json"));
    }
  };
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    read(damaged, SquadUse::training);
    read(whole.substr(0, at), SquadUse::prediction);
  }
  EXPECT_GT(refused, std::ssize(whole));
}

}  // namespace
}  // namespace bertrain
