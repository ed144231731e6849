// What labels of each kind become: features, losses against sums by hand, rows and scores.
#include "task/table/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "base/error_message.h"
#include "tensor/graph.h"
#include "tensor/ops/ops.h"

namespace bertrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Strings = std::vector<std::string>;

const LabelColumn kColumn = {"t.tsv", "label"};

std::shared_ptr<TextTarget> learnt(std::shared_ptr<TextTarget> target,
                                   const std::vector<RowLabel>& labels) {
  if (!target->is_known()) target->learn(labels, kColumn);
  target->weigh(labels);
  return target;
}

Example put(const TextTarget& target, const std::string& label) {
  Example example;
  RowLabel of_row = label;
  target.put(example, &of_row);
  return example;
}

TEST(MultiLabel, ARowHasAnyNumberOfClassesEachOnce) {
  auto target = learnt(make_multi_label({}), {"red, round", "", "blue,red", "round"});
  EXPECT_EQ(target->outputs(), 3);
  Example both = put(*target, " round,red ,red");
  EXPECT_THAT(floats(both, "labels"), ElementsAre(0, 1, 1));  // blue, red, round
  EXPECT_THAT(strings(both, "gold"), ElementsAre("round", "red"));
  EXPECT_THAT(floats(put(*target, ""), "labels"), ElementsAre(0, 0, 0));
  EXPECT_TRUE(put(*target, "").contains("gold"));
  EXPECT_EQ(target->fault("red"), "");
  EXPECT_EQ(target->fault("red,green"),
            "label 'green' is not among the model's: 'blue', 'red', 'round'");
  EXPECT_FALSE(put(*target, "green").contains("gold"));
  Json description = {{"task", "multilabel"}};
  target->describe(description);
  auto again = make_multi_label({});
  again->take(JsonValue(description, "bertrain.json", "task"));
  EXPECT_THAT(floats(put(*again, "blue"), "labels"), ElementsAre(1, 0, 0));
}

TEST(MultiLabel, AnArrayIsAListWhateverItsItemsHold) {
  auto row = [](Strings names) { return RowLabel(std::move(names)); };
  auto target = learnt(make_multi_label({}), {row({"b,c", "a"}), row({}), "a"});
  EXPECT_EQ(target->outputs(), 2);
  Example example;
  RowLabel both = row({"b,c", "a"});
  target->put(example, &both);
  EXPECT_THAT(floats(example, "labels"), ElementsAre(1, 1));  // a; b,c
  EXPECT_THAT(target->fault(row({"b"})), HasSubstr("label 'b' is not among"));
  EXPECT_EQ(target->fault(row({})), "");
  for (const auto& one : {learnt(make_single_label({}), {"[]", "a"}), make_regression({})}) {
    EXPECT_THAT(one->fault(row({"a"})), HasSubstr("array"));
    Example none;
    target->put(none, nullptr);
    EXPECT_FALSE(none.contains("gold"));
  }
}

TEST(MultiLabel, NeedsOneClass) {
  EXPECT_EQ(learnt(make_multi_label({}), {"", "only"})->outputs(), 1);
  EXPECT_THAT(message_of([] {
                learnt(make_multi_label({}), {"", " "});
              }),
              HasSubstr("t.tsv: no row has a label in column 'label'"));
  EXPECT_THAT(message_of([] { learnt(make_single_label({}), {"only"}); }),
              HasSubstr("has only the label 'only'; a classifier needs two"));
}

TEST(MultiLabel, ScoresCountDecisions) {
  auto target = learnt(make_multi_label({}), {"a,b"});
  auto scorer = target->scorer();
  auto row = [](Strings gold, Strings found) {
    return Example{{"gold", gold}, {"labels", found}, {"loss", std::vector<float>{0.5}}};
  };
  scorer->add(row({"a"}, {"a"}));
  scorer->add(row({"a", "b"}, {"b"}));
  scorer->add(row({}, {"a"}));
  Json scores = scorer->result();
  EXPECT_DOUBLE_EQ(scores["eval_accuracy"].get<double>(), 1.0 / 3);
  EXPECT_DOUBLE_EQ(scores["eval_micro_f1"].get<double>(), 4.0 / 6);  // 2 right, 1 wrong, 1 missed
  EXPECT_DOUBLE_EQ(scores["eval_macro_f1"].get<double>(), (0.5 + 1.0) / 2);
  EXPECT_EQ(scores["eval_count"], Json(3));
}

TEST(Regression, NumbersAndTheirCorrelations) {
  auto target = make_regression({});
  EXPECT_TRUE(target->is_known());
  EXPECT_THAT(floats(put(*target, "+2.5"), "value"), ElementsAre(2.5f));
  for (const char* bad : {"", "two", "1 2", "nan", "inf", "1e9", "0x10", "+-1"}) {
    EXPECT_THAT(target->fault(bad), HasSubstr("is no number")) << bad;
    EXPECT_FALSE(put(*target, bad).contains("gold")) << bad;
  }
  auto scorer = target->scorer();
  for (auto [gold, value] : {std::pair{"1", 1.0f}, {"2", 4.0f}, {"3", 9.0f}}) {
    scorer->add({{"gold", Strings{gold}},
                 {"value", std::vector<float>{value}},
                 {"loss", std::vector<float>{1}}});
  }
  Json scores = scorer->result();
  EXPECT_NEAR(scores["eval_pearson"].get<double>(), 0.98974331861078702, 1e-12);
  EXPECT_DOUBLE_EQ(scores["eval_spearman"].get<double>(), 1);
  EXPECT_EQ(make_regression({})->scorer()->result()["eval_pearson"], Json(0.0));
  TargetOptions smooth;
  smooth.label_smoothing = 0.1;
  EXPECT_THAT(message_of([&] { make_regression(smooth); }), HasSubstr("has no classes"));
}

TEST(SingleLabel, ClassesInTheOrderThatWasGiven) {
  TargetOptions options;
  options.labels = "no, maybe,yes";
  auto target = learnt(make_single_label(options), {"yes", "no"});
  EXPECT_THAT(integers(put(*target, "yes"), "label"), ElementsAre(2));
  EXPECT_EQ(target->fault("other"),
            "label 'other' is not among those of --labels: 'no', 'maybe', 'yes'");
  Json description = {{"labels", {"a", "b"}}};
  target->take(JsonValue(description, "bertrain.json", "task"));
  EXPECT_EQ(target->fault("other"), "label 'other' is not among the model's: 'a', 'b'");
  options.labels = "a,b,a";
  EXPECT_THAT(message_of([&] { learnt(make_single_label(options), {"a"}); }),
              HasSubstr("named twice"));
  options.labels = "a,,b";
  EXPECT_THAT(message_of([&] { learnt(make_single_label(options), {"a"}); }),
              HasSubstr("a name is empty"));
  options.labels = "a";
  EXPECT_EQ(message_of([&] { make_single_label(options); }),
            "--labels=a: a classifier needs two classes at least");
}

TEST(TextTarget, LabelsOfABenchmarkAreCalledSo) {
  TargetOptions options;
  options.labels = "0,1";
  options.benchmark = "cola";
  const char* expected =
      "label '2' is not among those of cola: '0', '1'; --task=classification takes any";
  EXPECT_EQ(make_single_label(options)->fault("2"), expected);
  options.labels = "";
  options.benchmark = "sts-b";
  options.least = 0;
  options.most = 5;
  auto target = make_regression(options);
  for (const char* sound : {"0", "5", "5.000", "2.5"}) EXPECT_EQ(target->fault(sound), "") << sound;
  for (const char* bad : {"5.01", "-1", "x"}) {
    EXPECT_THAT(target->fault(bad), HasSubstr("is no number from 0 to 5, as those of sts-b are"));
    EXPECT_FALSE(put(*target, bad).contains("gold")) << bad;
  }
}

TEST(SingleLabel, DoubtsAModelThatSaysTheSameOfNearlyAll) {
  auto scorer = learnt(make_single_label({}), {"a", "b"})->scorer();
  for (int i = 0; i < 20; ++i) {
    scorer->add({{"gold", Strings{i < 8 ? "b" : "a"}},
                 {"label", Strings{"a"}},
                 {"loss", std::vector<float>{1}}});
  }
  EXPECT_THAT(scorer->doubt(), HasSubstr("100.0 % of the rows are labelled 'a' by the model"));
}

TEST(MultiLabel, DoubtsAModelThatGivesNoLabel) {
  auto target = learnt(make_multi_label({}), {"a", "b"});
  auto scorer = target->scorer();
  auto add = [&](const Strings& labels) {
    scorer->add({{"gold", Strings{"a"}}, {"labels", labels}, {"loss", std::vector<float>{1}}});
  };
  for (int i = 0; i < 19; ++i) add({});
  EXPECT_EQ(scorer->doubt(), "") << "too few labels to say";
  add({});
  EXPECT_THAT(scorer->doubt(), HasSubstr("no row is given a label, and 20 are in them"));
  add({"b"});
  EXPECT_EQ(scorer->doubt(), "");
}

TEST(MultiLabel, DoubtsAModelThatGivesAllRowsTheSameLabels) {
  auto scorer = learnt(make_multi_label({}), {"a,b"})->scorer();
  for (int i = 0; i < 20; ++i) {
    scorer->add({{"gold", i < 5 ? Strings{"a", "b"} : Strings{"a"}},
                 {"labels", i % 2 == 0 ? Strings{"a", "b"} : Strings{"b", "a"}},
                 {"loss", std::vector<float>{1}}});
  }
  EXPECT_THAT(scorer->doubt(),
              HasSubstr("100.0 % of the rows are labelled 'a,b' by the model, which 25.0 % are"));
}

TEST(Regression, DoubtsAModelThatSaysNearlyTheSameOfEveryRow) {
  auto doubt = [](int rows, double gold, double said) {
    auto scorer = make_regression({})->scorer();
    for (int i = 0; i < rows; ++i) {
      double side = i % 2 == 0 ? 1 : -1;
      scorer->add({{"gold", Strings{fmt::format("{}", gold * side)}},
                   {"value", std::vector<float>{static_cast<float>(said * side)}},
                   {"loss", std::vector<float>{1}}});
    }
    return scorer->doubt();
  };
  EXPECT_THAT(doubt(20, 100, 0.5),
              HasSubstr("nearly the same number of every row (standard deviation 0.5, of the right "
                        "numbers 100)"));
  EXPECT_EQ(doubt(20, 100, 1.5), "");
  EXPECT_EQ(doubt(19, 100, 0.5), "") << "too few rows to say";
  EXPECT_EQ(doubt(20, 0, 0), "") << "the right numbers are all the same";
}

TEST(SingleLabel, RareClassesCountMore) {
  TargetOptions options;
  options.class_weights = "balanced";
  auto target = learnt(make_single_label(options), {"a", "a", "a", "b"});
  EXPECT_EQ(target->term().weight, "label_weight");
  EXPECT_THAT(floats(put(*target, "a"), "label_weight"), ElementsAre(static_cast<float>(2.0 / 3)));
  EXPECT_THAT(floats(put(*target, "b"), "label_weight"), ElementsAre(2.0f));
  options.class_weights = "b=0.25";
  target = learnt(make_single_label(options), {"a", "b"});
  EXPECT_THAT(floats(put(*target, "a"), "label_weight"), ElementsAre(1.0f));
  EXPECT_THAT(floats(put(*target, "b"), "label_weight"), ElementsAre(0.25f));
  EXPECT_EQ(learnt(make_single_label({}), {"a", "b"})->term().weight, "example_weight");
  for (const char* bad : {"c=1", "a", "a=", "a=x", "a=-1", "a=nan", "a=0,b=0", "equal"}) {
    options.class_weights = bad;
    EXPECT_THAT(message_of([&] {
                  learnt(make_single_label(options), {"a", "b"});
                }),
                HasSubstr("--class_weights="))
        << bad;
  }
}

}  // namespace
}  // namespace bertrain
