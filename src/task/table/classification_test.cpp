// Classification: tables to examples, places in errors, rows in order, scores.
#include "task/table/classification.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/error.h"
#include "base/log.h"
#include "storage/storage.h"
#include "task/tiny_config.h"

namespace bertrain {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Strings = std::vector<std::string>;

std::unique_ptr<Task> make(const ClassificationOptions& options, const Json* description = nullptr,
                           const char* kind = "classification") {
  auto tokenizer = std::make_shared<Tokenizer>(Vocabulary(
      {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "d", "who", "?"}, "toy"));
  return make_classification(kind, options, tiny_config(11, 64), tokenizer, description);
}

// Without a header: label, text; nothing is held out.
ClassificationOptions headerless(const std::string& train) {
  write_text("mem://classification/train.tsv", train);
  ClassificationOptions options;
  options.train_file = "mem://classification/train.tsv";
  options.header = false;
  options.label_column = "1";
  options.text_column = "2";
  options.dev_fraction = 0;
  return options;
}

ClassificationOptions with_header(const std::string& train, const std::string& dev) {
  ClassificationOptions options;
  write_text("mem://classification/train.tsv", train);
  write_text("mem://classification/dev.tsv", dev);
  options.train_file = "mem://classification/train.tsv";
  options.dev_file = "mem://classification/dev.tsv";
  return options;
}

Strings golds(const std::vector<Example>& examples) {
  Strings all;
  for (const Example& e : examples) all.push_back(strings(e, "gold").at(0));
  return all;
}

TEST(Classification, ReadsColumnsByNumberAndKeepsQuotes) {
  auto task = make(headerless("1\t\"a ?\t0\n0\tb \"c\"\t1\n"));
  std::vector<Example> train = rest_of(*task->examples("train"));
  ASSERT_EQ(train.size(), 2u);
  EXPECT_THAT(integers(train[0], "input_ids"), ElementsAre(2, 1, 5, 10, 3));
  EXPECT_THAT(integers(train[1], "input_ids"), ElementsAre(2, 6, 1, 7, 1, 3));
  EXPECT_THAT(integers(train[0], "label"), ElementsAre(1));
  EXPECT_THAT(integers(train[1], "row"), ElementsAre(1));
  EXPECT_EQ(task->count("train"), 2u);
  EXPECT_THAT(task->splits(), ElementsAre("train"));
}

TEST(Classification, ByteOrderMarkBlankLinesAndReturnsAreNoData) {
  auto task = make(headerless("\ufeff2\ta\n\n1\tb\rc\r\n\n"));
  EXPECT_THAT(golds(rest_of(*task->examples("train"))), ElementsAre("2", "1"));
  EXPECT_THAT(integers(rest_of(*task->examples("train"))[1], "input_ids"), ElementsAre(2, 6, 7, 3));
  EXPECT_THAT(task->describe()["labels"].get<Strings>(), ElementsAre("1", "2"));
}

TEST(Classification, PairsFromNamedColumnsOfAnyFormat) {
  ClassificationOptions options;
  write_text("mem://classification/train.csv",
             "key,q,s,label\nr1,who,\"a, b\",yes\nr2,a,\"\",no\n");
  options.train_file = "mem://classification/train.csv";
  options.text_column = "q";
  options.text_b_column = "s";
  options.id_column = "key";
  options.dev_fraction = 0;
  std::vector<Example> rows = rest_of(*make(options)->examples("train"));
  EXPECT_THAT(integers(rows[0], "input_ids"), ElementsAre(2, 9, 3, 5, 1, 6, 3));
  EXPECT_THAT(integers(rows[0], "segment_ids"), ElementsAre(0, 0, 0, 1, 1, 1, 1));
  EXPECT_THAT(integers(rows[1], "segment_ids"), ElementsAre(0, 0, 0));
  EXPECT_THAT(strings(rows[1], "id"), ElementsAre("r2"));

  write_text("mem://classification/train.jsonl",
             "{\"text\": \"a\", \"label\": 10}\n{\"text\": \"b\", \"label\": 9}\n");
  options = {};
  options.train_file = "mem://classification/train.jsonl";
  options.dev_fraction = 0;
  auto task = make(options);
  EXPECT_THAT(task->describe()["labels"].get<Strings>(), ElementsAre("9", "10"));
}

TEST(Classification, WhatIsWrongIsNamedWithItsLine) {
  auto refuses = [](const ClassificationOptions& options, std::string_view text) {
    EXPECT_THAT([&] { make(options); }, ThrowsMessage<Error>(HasSubstr(text)));
  };
  refuses(headerless("1\ta\tx\n0\tb\tx\n1\tc\n"), "train.tsv:3: 3 fields expected, 2 found");
  refuses(headerless("1\tcaf\xe9\n0\ta\n"), "train.tsv:1: invalid UTF-8 at byte 5");
  refuses(headerless("1\ta\n \tb\n"), "train.tsv:2: the label is empty");
  refuses(headerless("1\ta\n1\tb\n"), "only the label '1'");
  refuses(headerless("\n"), "train.tsv: there is no row");
  refuses(with_header("text\tlabel\na\te\nb\tk_1980\n", "text\tlabel\na\te\nb\tk_1990\n"),
          "dev.tsv:3: label 'k_1990' is not among the model's: 'e', 'k_1980'");
  refuses(with_header("text\tclass\na\te\n", "text\tlabel\na\te\n"), "label");
  refuses(with_header("text\tlabel\na\te\nb\tf\n", "text\tlabel\n"), "no row to evaluate on");
  ClassificationOptions options = headerless("1\ta\n0\tb\n");
  options.max_seq_length = 65;
  refuses(options, "beyond the model's 64 positions");
  options.max_seq_length = 2;
  refuses(options, "--max_seq_length=2");
  options = headerless("1\ta\n0\tb\n");
  options.dev_fraction = 1;
  refuses(options, "--dev_fraction");
  options = headerless("1\ta\n0\tb\n");
  options.test_file = "mem://classification/absent.tsv";
  refuses(options, "absent.tsv");
  options = headerless("1\ta\n0\tb\n");
  options.bad_rows = "ignore";
  EXPECT_THROW(make(options), Error);
}

TEST(Classification, BadRowsCanBeLeftOut) {
  ClassificationOptions options = headerless("1\ta\n0\n0\tb\n1\tc\xff\n");
  options.bad_rows = "skip";
  EXPECT_EQ(rest_of(*make(options)->examples("train")).size(), 2u);
  options.invalid_utf8 = "replace";
  EXPECT_EQ(rest_of(*make(options)->examples("train")).size(), 3u);
}

TEST(Classification, HoldsOutAShareByTheTextAlone) {
  std::string table = "text\tlabel\n", more = "text\tlabel\nz z z\t0\n";
  for (int i = 0; i < 2000; ++i) {
    std::string row = fmt::format("w{} a\t{}\n", i / 2, i % 2);  // each text twice
    table += row;
    more += row;
  }
  auto texts = [](const std::string& content, std::string_view split) {
    write_text("mem://classification/held.tsv", content);
    ClassificationOptions options;
    options.train_file = "mem://classification/held.tsv";
    options.id_column = "text";
    std::multiset<std::string> all;
    for (const Example& e : rest_of(*make(options)->examples(split)))
      all.insert(strings(e, "id").at(0));
    return all;
  };
  std::multiset<std::string> dev = texts(table, "dev"), train = texts(table, "train");
  EXPECT_EQ(dev.size() + train.size(), 2000u);
  EXPECT_NEAR(static_cast<double>(dev.size()), 100, 40);
  for (const std::string& text : dev) {
    EXPECT_EQ(dev.count(text), 2u);
    EXPECT_EQ(train.count(text), 0u);
  }
  std::multiset<std::string> later = texts(more, "dev");
  later.erase("z z z");
  EXPECT_EQ(later, dev);  // rows added before them do not move rows
}

TEST(Classification, TooFewRowsToHoldOutStillTrain) {
  write_text("mem://classification/few.tsv", "text\tlabel\na\t0\nb\t1\n");
  ClassificationOptions options;
  options.train_file = "mem://classification/few.tsv";
  auto task = make(options);
  EXPECT_EQ(task->count("train").value() + task->count("dev").value_or(0), 2u);
  EXPECT_GE(task->count("train").value(), 1u);
}

TEST(Classification, PredictsWithTheModelsLabelsAndColumns) {
  ClassificationOptions options =
      with_header("text\tlabel\na\te\nb\tk_1980\n", "text\tlabel\na\te\n");
  options.max_seq_length = 20;
  Json description = make(options)->describe();
  EXPECT_EQ(description["task"], "classification");

  ClassificationOptions predict;
  write_text("mem://classification/test.tsv", "n\ttext\n1\ta\n2\t\n3\tc\n");
  predict.test_file = "mem://classification/test.tsv";
  auto task = make(predict, &description);
  EXPECT_THAT(task->splits(), ElementsAre("test"));
  EXPECT_EQ(task->max_seq_length(), 20);
  std::vector<Example> rows = rest_of(*task->examples("test"));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_FALSE(rows[0].contains("gold"));
  EXPECT_THAT(integers(rows[1], "input_ids"), ElementsAre(2, 3));
  EXPECT_EQ(task->describe(), description);
  auto stream = task->examples("test");
  EXPECT_EQ(stream->skip(2), 2u);
  EXPECT_THAT(integers(*stream->next(), "row"), ElementsAre(2));

  // Labels where they are known; others are left out, not refused.
  write_text("mem://classification/test.tsv", "text\tlabel\na\te\nb\tk_1990\n");
  rows = rest_of(*make(predict, &description)->examples("test"));
  EXPECT_THAT(strings(rows[0], "gold"), ElementsAre("e"));
  EXPECT_FALSE(rows[1].contains("gold"));

  // Bare lines, an empty one among them, are a text each.
  write_text("mem://classification/lines", "a b\n\nwho\n");
  predict.test_file = "mem://classification/lines";
  predict.header = false;
  EXPECT_EQ(rest_of(*make(predict, &description)->examples("test")).size(), 3u);

  EXPECT_THAT([&] { make(predict); }, ThrowsMessage<Error>(HasSubstr("labels are not known")));
  Json damaged = {{"task", "classification"}, {"labels", 3}};
  EXPECT_THROW(make(predict, &damaged), Error);
}

TEST(Classification, MoreRowsThanAChunkStayInOrder) {
  std::string table = "text\tlabel\n";
  for (int i = 0; i < 9000; ++i) table += fmt::format("{} r\t{}\n", std::string(i % 7, 'a'), i % 3);
  ClassificationOptions options = with_header(table, table);
  options.test_file = options.dev_file;
  auto task = make(options);
  EXPECT_EQ(rest_of(*task->examples("dev")), rest_of(*task->examples("test")));
  EXPECT_EQ(task->count("dev"), 9000u);
  EXPECT_THAT(integers(rest_of(*task->examples("dev"))[8999], "label"), ElementsAre(8999 % 3));
}

// --- what comes out ---

Named<Array> predictions(const std::vector<float>& probabilities, const std::vector<float>& loss) {
  auto n = static_cast<int64_t>(loss.size());
  std::vector<float> logits;
  for (float p : probabilities) logits.push_back(std::log(p));
  return {{"probabilities", make_array<float>({n, 2}, probabilities)},
          {"logits", make_array<float>({n, 2}, logits)},
          {"loss", make_array<float>({n}, loss)}};
}

TEST(Classification, RowsComeOutInOrderOfTheInput) {
  auto task = make(headerless("no\ta\nyes\tb\n"));
  auto rows = task->rows();
  Batch batch;
  batch.row = {2, 0};
  batch.notes = {{{"gold", Strings{"yes"}}}, {{"id", Strings{"r0"}}}};
  rows->add(batch, predictions({0.25f, 0.75f, 0.5f, 0.5f, 9, 9}, {0.5f, 3, 9}));  // one is filling
  auto first = rows->next();
  ASSERT_TRUE(first);
  EXPECT_THAT(strings(*first, "label"), ElementsAre("no"));  // the first of equals
  EXPECT_THAT(strings(*first, "id"), ElementsAre("r0"));
  EXPECT_FALSE(first->contains("loss"));
  EXPECT_FALSE(rows->next());  // row 1 is not there yet
  batch.row = {1};
  batch.notes = {{}};
  rows->add(batch, predictions({1, 0}, {1}));
  EXPECT_TRUE(rows->next());
  auto last = rows->next();
  EXPECT_THAT(strings(*last, "label"), ElementsAre("yes"));
  EXPECT_THAT(floats(*last, "probabilities"), ElementsAre(0.25f, 0.75f));
  EXPECT_THAT(floats(*last, "logits"), ElementsAre(std::log(0.25f), std::log(0.75f)));
  EXPECT_THAT(floats(*last, "probability"), ElementsAre(0.75f));
  EXPECT_THAT(floats(*last, "loss"), ElementsAre(0.5f));
  EXPECT_FALSE(rows->next());
}

TEST(Classification, ScoresCountEveryRowOnce) {
  auto task = make(headerless("0\ta\n1\tb\n2\tc\n"));
  auto scorer = task->scorer();
  auto add = [&](std::string gold, std::string label, float loss) {
    scorer->add(
        {{"gold", Strings{gold}}, {"label", Strings{label}}, {"loss", std::vector<float>{loss}}});
  };
  add("0", "0", 1);
  add("0", "1", 2);
  add("1", "1", 3);
  add("1", "1", 4);
  Json result = scorer->result();
  EXPECT_DOUBLE_EQ(result["eval_accuracy"].get<double>(), 0.75);
  EXPECT_DOUBLE_EQ(result["eval_loss"].get<double>(), 2.5);
  EXPECT_EQ(result["eval_count"], 4);
  Json details = scorer->details();
  EXPECT_DOUBLE_EQ(details["classes"]["0"]["recall"].get<double>(), 0.5);
  EXPECT_DOUBLE_EQ(details["classes"]["0"]["precision"].get<double>(), 1);
  EXPECT_DOUBLE_EQ(details["classes"]["1"]["precision"].get<double>(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(details["classes"]["1"]["f1"].get<double>(), 0.8);
  EXPECT_DOUBLE_EQ(details["classes"]["2"]["f1"].get<double>(), 0);  // never there: no 0 / 0
  EXPECT_NEAR(result["eval_macro_f1"].get<double>(), (2.0 / 3 + 0.8) / 2, 1e-12);
  EXPECT_EQ(details["confusion"]["matrix"], (Json{{1, 1, 0}, {0, 2, 0}, {0, 0, 0}}));
  EXPECT_EQ(
      details["confused"],
      Json::array({{{"labels", {"0", "1"}}, {"first_as_second", 1}, {"second_as_first", 0}}}));
  EXPECT_THROW(scorer->add({{"label", Strings{"0"}}}), Error);
}

std::string numbered_rows(size_t count, const std::string& filling = "") {
  std::string rows;
  for (size_t i = 0; i < count; ++i) rows += std::to_string(i) + filling + "\ta\n";
  return rows;
}

TEST(Classification, WhatIsKeptOfScoresDoesNotGrowWithTheLabels) {
  auto task = make(headerless(numbered_rows(1000)));
  auto scorer = task->scorer();
  for (int i = 0; i < 1000; ++i) {
    scorer->add({{"gold", Strings{std::to_string(i)}},
                 {"label", Strings{std::to_string(i / 2)}},
                 {"loss", std::vector<float>{1}}});
  }
  Json result = scorer->result();
  for (const auto& [name, value] : result.items()) EXPECT_TRUE(value.is_number()) << name;
  Json details = scorer->details();
  EXPECT_EQ(details["classes"].size(), 1000u);
  EXPECT_EQ(details["classes"]["3"]["support"], 1);
  EXPECT_EQ(details["confused"].size(), 50u);
  EXPECT_FALSE(details.contains("confusion"));
}

TEST(Classification, RowsWithoutALabelAreBadRows) {
  std::string log;
  LogSink sink([&](std::string_view line) { log += std::string(line) + "\n"; });
  ClassificationOptions options = headerless("1\ta\n \tb\n0\tc\n\td\n");
  options.bad_rows = "skip";
  EXPECT_EQ(make(options)->count("train"), 2u);
  EXPECT_THAT(log,
              HasSubstr("2 rows were passed over, the first: mem://classification/train.tsv:2: "
                        "the label is empty"));
  options = headerless("1\ta\nmany\tb\n0\tc\n");
  options.bad_rows = "skip";
  EXPECT_EQ(make(options, nullptr, "regression")->count("train"), 2u);
  EXPECT_THAT(log, HasSubstr("train.tsv:2: 'many' is no number"));
  write_text("mem://classification/train.jsonl",
             "{\"text\": \"a\", \"label\": \"x\"}\n{\"text\": \"a\", \"label\": null}\n"
             "{\"text\": \"a\", \"label\": {}}\n{\"text\": \"a\", \"label\": [\"y\"]}\n"
             "{\"text\": \"b\", \"label\": \"y\"}\n");
  options = {};
  options.train_file = "mem://classification/train.jsonl";
  options.dev_fraction = 0;
  options.bad_rows = "skip";
  EXPECT_EQ(make(options)->count("train"), 2u);
  EXPECT_THAT(log, HasSubstr("3 rows were passed over"));
}

TEST(Classification, ColumnsOfTooManyLabelsAreRefused) {
  EXPECT_EQ(make(headerless(numbered_rows(10000)))->describe()["labels"].size(), 10000u);
  auto refused = [](const std::string& rows, const char* text) {
    EXPECT_THAT([&] { make(headerless(rows)); },
                ThrowsMessage<Error>(AllOf(HasSubstr("train.tsv: "), HasSubstr(text),
                                           HasSubstr("is it the label column?"))));
  };
  refused(numbered_rows(10001),
          "column '1' has 10001 different labels, a classifier at most 10000");
  refused(numbered_rows(1000, std::string(1100, 'x')),
          "column '1' has 1000 different labels of 1102890 bytes together");
  Json description = make(headerless("0\ta\n1\ta\n"))->describe();
  for (int i = 2; i <= 10000; ++i) description["labels"].push_back(std::to_string(i));
  ClassificationOptions test;
  write_text("mem://classification/test.tsv", "text\na\n");
  test.test_file = "mem://classification/test.tsv";
  EXPECT_THAT([&] { make(test, &description); },
              ThrowsMessage<Error>(HasSubstr("at most 10000 labels")));
}

TEST(Classification, ScoresOfNothingAreNumbers) {
  auto task = make(headerless("0\ta\n1\tb\n"));
  EXPECT_EQ(task->scorer()->result()["eval_accuracy"], 0);
}

TEST(Classification, BuildsLossesAndProbabilitiesOnTheExampleAxis) {
  auto task = make(headerless("0\ta\n1\tb\n2\tc\n"));
  Recording recording({true, DType::f32});
  Graph& graph = recording.graph();
  Inputs batch;
  for (const char* name : {"input_ids", "segment_ids", "position", "example", "is_key"}) {
    batch[name] = graph.input(name, {DType::i32, {1, 16}});
  }
  batch["number"] = graph.input("number", {DType::u32, {1, 16}});
  batch["first_slot"] = graph.input("first_slot", {DType::i32, {4}});
  batch["example_number"] = graph.input("example_number", {DType::u32, {4}});
  batch["label"] = graph.input("label", {DType::i32, {4}});
  Outputs out = task->build(recording.scope(), batch);
  EXPECT_EQ(out.losses.at(task->terms()[0].name).shape(), (Shape{4}));
  EXPECT_EQ(out.predictions.at("probabilities").shape(), (Shape{4, 3}));
  EXPECT_EQ(out.predictions.at("logits").shape(), (Shape{4, 3}));
  EXPECT_EQ(out.predictions.at("loss").shape(), (Shape{4}));
  std::set<std::string> names;
  for (const Parameter& p : recording.parameters()) names.insert(p.name);
  EXPECT_TRUE(names.contains("output_weights"));
  EXPECT_TRUE(names.contains("bert/pooler/dense/kernel"));
}

TEST(Classification, LongTextsAreReadInWindowsOfTheirRow) {
  ClassificationOptions options =
      with_header("text\tlabel\na b c d a b c d\tx\nb\ty\na b c d a\ty\n",
                  "text\tlabel\nb\ty\na b c d a b\tx\n");
  options.max_seq_length = 6;
  options.long_text = "windows";
  options.doc_stride = 4;
  auto task = make(options);
  std::vector<Example> train = rest_of(*task->examples("train"));
  EXPECT_EQ(task->count("train"), 5u);
  EXPECT_THAT(golds(train), ElementsAre("x", "x", "y", "y", "y"));
  EXPECT_THAT(integers(train[1], "input_ids"), ElementsAre(2, 5, 6, 7, 8, 3));
  EXPECT_THAT(integers(train[1], "row"), ElementsAre(0));
  EXPECT_THAT(integers(train[1], "window"), ElementsAre(1, 2));
  EXPECT_FALSE(train[2].contains("window"));
  EXPECT_THAT(integers(train[4], "row"), ElementsAre(2));
  EXPECT_EQ(task->count("dev"), 3u);
  EXPECT_EQ(task->describe()["long_text"], "windows");
  EXPECT_EQ(task->describe()["doc_stride"], 4);

  // As they were trained on, unless told otherwise; of a file to predict the same examples.
  Json description = task->describe();
  write_text("mem://classification/new.tsv", "text\nb\na b c d a b c d a\n");
  ClassificationOptions fresh;
  fresh.test_file = "mem://classification/new.tsv";
  auto rows = make(fresh, &description);
  std::vector<Example> test = rest_of(*rows->examples("test"));
  ASSERT_EQ(test.size(), 4u);
  EXPECT_THAT(integers(test[3], "input_ids"), ElementsAre(2, 5, 3));
  EXPECT_THAT(integers(test[3], "window"), ElementsAre(2, 3));
  ExampleStream skipped = rows->examples("test");
  EXPECT_EQ(skipped->skip(2), 2u);
  EXPECT_THAT(integers(*skipped->next(), "window"), ElementsAre(1, 3));
  fresh.long_text = "head";
  EXPECT_EQ(rest_of(*make(fresh, &description)->examples("test")).size(), 2u);

  // Each window is an example to learn from, so it counts where rare classes weigh more: 2 of 5 are x's.
  options.target.class_weights = "balanced";
  EXPECT_THAT(floats(rest_of(*make(options)->examples("train"))[0], "label_weight"),
              ElementsAre(1.25F));
}

TEST(Classification, WaysOfLongTextsAreNamed) {
  auto refuses = [](const ClassificationOptions& options, const Json* description,
                    std::string_view text) {
    EXPECT_THAT([&] { make(options, description); }, ThrowsMessage<Error>(HasSubstr(text)));
  };
  ClassificationOptions options = headerless("1\ta\n0\tb\n");
  options.long_text = "tail";
  refuses(options, nullptr, "--long_text=tail: head, head_tail or windows expected");
  options.long_text = "head_tail";
  options.doc_stride = 3;
  refuses(options, nullptr,
          "--doc_stride=3: it is for --long_text=windows, and here that is head_tail");
  options.long_text = "windows";
  options.doc_stride = -1;
  refuses(options, nullptr, "--doc_stride=-1");
  options = headerless("1\ta\n0\tb\n");
  Json description = make(options)->describe();
  EXPECT_EQ(description["long_text"], "head");
  description["long_text"] = "tail";
  refuses(options, &description, "long_text");
  description["long_text"] = "windows";
  description["doc_stride"] = 0;
  refuses(options, &description, "doc_stride");
}

}  // namespace
}  // namespace bertrain
