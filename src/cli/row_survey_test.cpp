// Rows counted and chosen over the whole file, and those that contradict each other, task by task.
#include "cli/row_survey.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/storage.h"
#include "task/catalog/catalog.h"
#include "task/tiny_config.h"

namespace bertrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::shared_ptr<const Tokenizer> tokenizer() {
  return std::make_shared<Tokenizer>(
      Vocabulary({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "d"}, "toy"));
}

TaskOptions options(const std::string& text) {
  std::string file = "mem://row_survey/train.tsv";
  write_text(file, text);
  TaskOptions o;
  o.tokenizer = tokenizer();
  o.config = tiny_config(9, 64);
  o.classification.train_file = o.choice.table.train_file = o.tagging.train_file = file;
  o.classification.dev_fraction = o.choice.table.dev_fraction = o.tagging.dev_fraction = 0;
  return o;
}

RowSurvey survey_of(std::string_view task, const TaskOptions& o, int64_t count) {
  return survey_rows(*make_task(task, o), *tokenizer(), count);
}
RowSurvey survey_of(std::string_view task, const std::string& text, int64_t count) {
  return survey_of(task, options(text), count);
}

TEST(EvenlySpaced, FromTheFirst) {
  EXPECT_THAT(evenly_spaced(10, 2), ElementsAre(0, 5));
  EXPECT_THAT(evenly_spaced(3, 8), ElementsAre(0, 1, 2));
  EXPECT_THAT(evenly_spaced(3, 0), ElementsAre());
}

TEST(RowSurvey, ASortedFileIsSeenToItsEnd) {
  std::string text = "label\ttext\n";
  for (int i = 0; i < 12'000; ++i) text += i < 11'000 ? "x\ta\n" : "y\tb\n";
  RowSurvey survey = survey_of("classification", text, 4);
  EXPECT_THAT(survey.counts->text(),
              StartsWith("labels of 12000 rows: 2; always saying 'x' is right for 91.7 %\n"));
  EXPECT_THAT(survey.chosen, ElementsAre(0, 5500, 11'000, 11'500));
  EXPECT_EQ(survey.few.size(), 4u);
  EXPECT_EQ(survey.contradictions, 0u);
}

TEST(RowSurvey, MoreKindsThanRowsAreChosenFromAllOfTheirOrder) {
  RowSurvey survey = survey_of("classification", "label\ttext\np\ta\nq\tb\nr\tc\ns\td\n", 2);
  EXPECT_THAT(survey.chosen, ElementsAre(0, 2));
}

TEST(RowSurvey, WindowsAreOfOneRow) {
  TaskOptions o = options("label\ttext\nx\ta a a a a\ny\tb\n");
  o.classification.long_text = "windows";
  o.classification.max_seq_length = 5;
  o.classification.doc_stride = 2;
  RowSurvey survey = survey_of("classification", o, 2);
  EXPECT_THAT(survey.counts->text(),
              StartsWith("labels of 2 rows: 2; always saying 'x' is right for 50"));
  EXPECT_THAT(survey.chosen, ElementsAre(0, 1));
  EXPECT_EQ(survey.few.size(), 3u);
}

TEST(RowSurvey, EqualPiecesWithOtherTargetsContradict) {
  RowSurvey survey = survey_of("classification", "label\ttext\nx\ta\ny\ta\nx\ta\nz\tb\n", 4);
  EXPECT_EQ(survey.contradictions, 1u);
  EXPECT_EQ(
      survey.contradiction,
      "mem://row_survey/train.tsv:2 and mem://row_survey/train.tsv:3 are the same pieces with "
      "different targets, 'x' and 'y'");
}

TEST(RowSurvey, TargetsAreWhatIsLearntAndNotHowTheyAreWritten) {
  EXPECT_EQ(survey_of("multilabel", "label\ttext\nx,y\ta\ny,x\ta\n", 2).contradictions, 0u);
  EXPECT_EQ(survey_of("multilabel", "label\ttext\nx,y\ta\ny\ta\n", 2).contradictions, 1u);
  EXPECT_EQ(survey_of("regression", "label\ttext\n1\ta\n1.0\ta\n", 2).contradictions, 0u);
  EXPECT_EQ(survey_of("regression", "label\ttext\n1\ta\n1.5\ta\n", 2).contradictions, 1u);
}

TEST(RowSurvey, NumbersAndSetsOfLabels) {
  RowSurvey numbers = survey_of("regression", "label\ttext\n1\ta\n3\tb\n", 2);
  EXPECT_EQ(numbers.counts->text(),
            "numbers of 2 rows: from 1 to 3, 2 on average; always saying that has loss 1\n");
  EXPECT_DOUBLE_EQ(numbers.counts->constant_loss(), 1);
  RowSurvey sets = survey_of("multilabel", "label\ttext\ny,x\ta\nx,y\tb\nx\tc\n", 2);
  EXPECT_THAT(sets.counts->text(), StartsWith("sets of labels of 3 rows: 2; always saying 'x,y'"));
  // x: of all rows; y: of two in three.
  EXPECT_NEAR(sets.counts->constant_loss(), 0.6365141682948128 / 2, 1e-12);
}

TEST(RowSurvey, TagsOfWords) {
  RowSurvey survey = survey_of("tagging", "a O\nb X\n\na O\n\na O\nb O\n", 2);
  EXPECT_THAT(survey.counts->text(),
              StartsWith("tags of 5 words: 2; always saying 'O' is right for 80.0 %"));
  EXPECT_EQ(
      survey.contradiction,
      "mem://row_survey/train.tsv:1 and mem://row_survey/train.tsv:6 are the same pieces with "
      "different targets, 'O,X' and 'O'");
  EXPECT_THAT(survey.chosen, ElementsAre(0, 1));
}

TEST(RowSurvey, RightChoices) {
  RowSurvey survey = survey_of("multiple_choice",
                               "sent1\tsent2\tending0\tending1\tlabel\n"
                               "a\tb\tc\td\t0\na\tb\tc\td\t1\nb\tb\tc\td\t1\n",
                               2);
  EXPECT_THAT(survey.counts->text(),
              StartsWith("labels of 3 rows: 2; always saying '1' is right for 66.7 %"));
  EXPECT_EQ(
      survey.contradiction,
      "mem://row_survey/train.tsv:2 and mem://row_survey/train.tsv:3 are the same pieces with "
      "different targets, '0' and '1'");
}

TEST(RowSurvey, QuestionsWithAndWithoutAnAnswer) {
  const char* file = R"({"version": "v2.0", "data": [{"title": "t", "paragraphs": [{
      "context": "b c", "qas": [
        {"id": "q0", "question": "a", "is_impossible": false,
         "answers": [{"text": "c", "answer_start": 2}]},
        {"id": "q1", "question": "a", "is_impossible": true, "answers": []}]}]}]})";
  TaskOptions o;
  o.tokenizer = tokenizer();
  o.config = tiny_config(9, 64);
  o.squad.max_query_length = 4;
  o.squad.train_file = "mem://row_survey/squad.json";
  write_text(o.squad.train_file, file);
  RowSurvey survey = survey_of("squad", o, 2);
  EXPECT_EQ(survey.counts->text(),
            "2 questions: 50.0 % have an answer; answering none is right for 50.0 %\n");
  EXPECT_NEAR(survey.counts->constant_loss(), 0.6931471805599453, 1e-12);  // two starts, two ends
  EXPECT_EQ(survey.contradiction,
            "q0 and q1 are the same pieces with different targets, 'an answer' and 'no answer'");
}

TEST(RowSurvey, PiecesThatTheVocabularyLacks) {
  EXPECT_DOUBLE_EQ(survey_of("classification", "label\ttext\nx\ta e\ny\tb f\n", 2).unknown, 0.25);
}

}  // namespace
}  // namespace bertrain
