// Pre-training: records checked and stripped of padding, rows and scores as the reference's.
#include "task/pretraining.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/error.h"
#include "formats/tfrecord.h"
#include "storage/storage.h"
#include "task/tiny_config.h"

namespace bertrain {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Integers = std::vector<int64_t>;

// Five of eight slots and two of four targets are real.
Example record() {
  return {{"input_ids", Integers{2, 7, 3, 9, 3, 0, 0, 0}},
          {"input_mask", Integers{1, 1, 1, 1, 1, 0, 0, 0}},
          {"segment_ids", Integers{0, 0, 0, 1, 1, 0, 0, 0}},
          {"masked_lm_positions", Integers{1, 3, 0, 0}},
          {"masked_lm_ids", Integers{17, 19, 0, 0}},
          {"masked_lm_weights", std::vector<float>{1, 0.5f, 0, 0}},
          {"next_sentence_labels", Integers{1}}};
}

PretrainingOptions written(const std::vector<Example>& records,
                           const std::string& uri = "mem://pretraining/a") {
  TfRecordWriter writer(storage_for(uri).create(uri, Exists::replace));
  for (const Example& r : records) writer.write(serialize_example(r));
  writer.commit();
  PretrainingOptions options;
  options.input_file = uri;
  return options;
}

TEST(Pretraining, MaskedWordsAloneNeedNoLabels) {
  Example unlabelled = record();
  unlabelled.erase("next_sentence_labels");
  PretrainingOptions options = written({unlabelled}, "mem://pretraining/unlabelled");
  EXPECT_THAT([&] { make_pretraining(options, tiny_config(100, 8)); },
              ThrowsMessage<Error>(HasSubstr("next_sentence_labels")));
  options.next_sentence = false;
  auto task = make_pretraining(options, tiny_config(100, 8));
  EXPECT_FALSE(task->examples("train")->next()->contains("next_sentence_labels"));
  EXPECT_FALSE(task->schema().contains("next_sentence_labels"));
  ASSERT_EQ(task->terms().size(), 1u);
  EXPECT_EQ(task->terms()[0].name, "masked_lm_loss");
  EXPECT_EQ(task->describe()["next_sentence"], Json(false));

  auto scorer = task->scorer();
  scorer->add({{"masked_lm_weight", std::vector<float>{2}},
               {"masked_lm_loss", std::vector<float>{3}},
               {"masked_lm_correct", std::vector<float>{1}}});
  Json scores = scorer->result();
  EXPECT_EQ(scores["loss"], Json(1.5));
  EXPECT_EQ(scores["masked_lm_accuracy"], Json(0.5));
  EXPECT_EQ(scores["eval_count"], Json(1));
  EXPECT_FALSE(scores.contains("next_sentence_loss"));
}

TEST(Pretraining, DropsPaddingAndTargetsWithoutWeight) {
  auto task = make_pretraining(written({record(), record()}), tiny_config(100, 8));
  EXPECT_EQ(task->max_seq_length(), 8);
  EXPECT_EQ(task->max_targets(), 4);
  EXPECT_THAT(task->splits(), ElementsAre("train"));
  auto stream = task->examples("train");
  Example e = *stream->next();
  EXPECT_THAT(integers(e, "input_ids"), ElementsAre(2, 7, 3, 9, 3));
  EXPECT_THAT(integers(e, "segment_ids"), ElementsAre(0, 0, 0, 1, 1));
  EXPECT_THAT(integers(e, "target_positions"), ElementsAre(1, 3));
  EXPECT_THAT(integers(e, "masked_lm_ids"), ElementsAre(17, 19));
  EXPECT_THAT(floats(e, "masked_lm_weights"), ElementsAre(1, 0.5f));
  EXPECT_THAT(integers(e, "next_sentence_labels"), ElementsAre(1));
  EXPECT_THAT(integers(*stream->next(), "row"), ElementsAre(1));
  EXPECT_THROW(task->examples("dev"), Error);
}

TEST(Pretraining, APassReadsItsFilesInAnOrderOfItsOwn) {
  PretrainingOptions options;
  for (int64_t file = 0; file < 3; ++file) {
    Example one = record(), two = record();
    std::get<Integers>(one["input_ids"])[1] = 10 * file;
    std::get<Integers>(two["input_ids"])[1] = 10 * file + 1;
    std::string uri = "mem://pretraining/part" + std::to_string(file);
    written({one, two}, uri);
    options.input_file += (file > 0 ? "," : "") + uri;
  }
  auto task = make_pretraining(options, tiny_config(100, 8));
  auto ids = [](ExampleStream stream) {
    Integers all;
    while (auto e = stream->next()) all.push_back(integers(*e, "input_ids").at(1));
    return all;
  };
  Integers listed = {0, 1, 10, 11, 20, 21};
  EXPECT_EQ(ids(task->examples("train")), listed);
  std::set<Integers> orders;
  for (uint64_t pass = 0; pass < 100; ++pass) {
    Integers order = ids(task->shuffled_files("train", 5, pass));
    EXPECT_EQ(order, ids(task->shuffled_files("train", 5, pass)));
    for (size_t i = 0; i < 6; i += 2) EXPECT_EQ(order[i] + 1, order[i + 1]);  // files stay whole
    EXPECT_THAT(order, testing::UnorderedElementsAreArray(listed));
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 6u);  // all that three files have
  // Whatever the order, a record is called after its file.
  for (uint64_t pass : {0, 1}) {
    ExampleStream stream = task->shuffled_files("train", 5, pass);
    while (auto e = stream->next()) {
      int64_t id = integers(*e, "input_ids").at(1);
      EXPECT_EQ(task->row_name(integers(*e, "row").at(0)),
                fmt::format("mem://pretraining/part{}:{}", id / 10, id % 10 + 1));
    }
  }
  options.input_file = "mem://pretraining/part1";
  task = make_pretraining(options, tiny_config(100, 8));
  EXPECT_THAT(ids(task->shuffled_files("train", 5, 3)), ElementsAre(10, 11));
}

TEST(Pretraining, LengthsThatDifferAreNamedWithBothNumbersAndTheFile) {
  PretrainingOptions options = written({record()});
  options.max_predictions_per_seq = 10;
  EXPECT_THAT([&] { make_pretraining(options, tiny_config(100, 8)); },
              ThrowsMessage<Error>(AllOf(HasSubstr("mem://pretraining/a"), HasSubstr("=4"),
                                         HasSubstr("10 is wanted"))));
  options.max_predictions_per_seq = 4;
  options.max_seq_length = 6;
  EXPECT_THAT([&] { make_pretraining(options, tiny_config(100, 8)); },
              ThrowsMessage<Error>(AllOf(HasSubstr("max_seq_length=8"), HasSubstr("6 is wanted"))));
  options.max_seq_length = 8;
  EXPECT_NO_THROW(make_pretraining(options, tiny_config(100, 8)));

  Example shorter = record();
  for (const char* name : {"input_ids", "input_mask", "segment_ids"}) {
    std::get<Integers>(shorter[name]).resize(6);
  }
  written({shorter}, "mem://pretraining/b");
  options = {};
  options.input_file = "mem://pretraining/a,mem://pretraining/b";
  EXPECT_THAT([&] { make_pretraining(options, tiny_config(100, 8)); },
              ThrowsMessage<Error>(HasSubstr("mem://pretraining/b: the data were made with "
                                             "max_seq_length=6")));
  // And in the middle of a file, with the record.
  auto task = make_pretraining(written({record(), shorter}), tiny_config(100, 8));
  auto stream = task->examples("train");
  stream->next();
  EXPECT_THAT([&] { stream->next(); },
              ThrowsMessage<Error>(AllOf(HasSubstr("mem://pretraining/a: record 2"),
                                         HasSubstr("input_ids has 6 values"))));
}

TEST(Pretraining, RecordsAreChecked) {
  auto refuses = [](auto change, std::string_view text) {
    Example bad = record();
    change(bad);
    EXPECT_THAT([&] { make_pretraining(written({bad}), tiny_config(100, 8)); },
                ThrowsMessage<Error>(AllOf(HasSubstr("record 1"), HasSubstr(text))));
  };
  refuses([](Example& e) { std::get<Integers>(e["input_ids"])[1] = 100; }, "outside 0 … 99");
  refuses([](Example& e) { std::get<Integers>(e["segment_ids"])[1] = 2; }, "outside 0 … 1");
  refuses([](Example& e) { std::get<Integers>(e["masked_lm_ids"])[0] = -1; }, "masked_lm_ids");
  refuses([](Example& e) { std::get<Integers>(e["masked_lm_positions"])[0] = 5; }, "outside 0 … 4");
  refuses([](Example& e) { std::get<Integers>(e["next_sentence_labels"])[0] = 2; },
          "outside 0 … 1");
  refuses([](Example& e) { std::get<Integers>(e["input_mask"])[1] = 0; }, "ones followed by zeros");
  refuses([](Example& e) { e["input_mask"] = Integers(8, 0); }, "empty");
  refuses([](Example& e) { e.erase("masked_lm_weights"); }, "masked_lm_weights");
  refuses([](Example& e) { e["masked_lm_ids"] = Integers{1}; }, "masked_lm_ids has 1 values");
  refuses(
      [](Example& e) {
        e["masked_lm_positions"] = e["masked_lm_ids"] = Integers{};
        e["masked_lm_weights"] = std::vector<float>{};
      },
      "masked_lm_positions is empty: there is nothing to predict");
  for (float weight : {NAN, INFINITY, -1.0F, 1e30F}) {
    refuses([&](Example& e) { std::get<std::vector<float>>(e["masked_lm_weights"])[3] = weight; },
            "masked_lm_weights holds");
  }
}

TEST(Pretraining, TextInPlaceOfRecordsIsSaidToBeText) {
  write_text("mem://pretraining/text", "label\ttext\na\tb c d e f\n");
  PretrainingOptions options;
  options.input_file = "mem://pretraining/text";
  EXPECT_THAT([&] { make_pretraining(options, tiny_config(100, 8)); },
              ThrowsMessage<Error>(HasSubstr("mem://pretraining/text: this looks like text")));
}

TEST(Pretraining, OtherLengthsOfTheEvaluationFileAreSaidOfIt) {
  PretrainingOptions options = written({record()});
  Example shorter = record();
  for (const char* name : {"input_ids", "input_mask", "segment_ids"}) {
    std::get<Integers>(shorter[name]).resize(6);
  }
  options.eval_file = written({shorter}, "mem://pretraining/dev").input_file;
  EXPECT_THAT([&] { make_pretraining(options, tiny_config(100, 8)); },
              ThrowsMessage<Error>(HasSubstr("mem://pretraining/dev: the data were made with "
                                             "max_seq_length=6")));
}

TEST(Pretraining, FilesAndLengthsAreRefusedBeforeAnythingRuns) {
  PretrainingOptions options;
  options.input_file = "mem://pretraining/nothing*";
  EXPECT_THAT([&] { make_pretraining(options, tiny_config(100, 8)); },
              ThrowsMessage<Error>(HasSubstr("mem://pretraining/nothing*")));
  BertConfig small = tiny_config(100, 8);
  small.max_position_embeddings = 7;
  EXPECT_THAT([&] { make_pretraining(written({record()}), small); },
              ThrowsMessage<Error>(AllOf(HasSubstr("8 tokens"), HasSubstr("7 positions"))));
}

TEST(Pretraining, ScoresAreWeightedOverAllTargetsAndMeansOverRows) {
  auto task = make_pretraining(written({record(), record()}), tiny_config(100, 8));
  std::vector<Example> examples = rest_of(*task->examples("train"));
  auto rows = task->rows();
  auto scorer = task->scorer();
  for (int64_t capacity : {5, 10}) {
    PackOptions options;
    options.capacities = {{1, capacity, 3, 6}};
    rows = task->rows();
    scorer = task->scorer();
    size_t seen = 0;
    for (const Batch& b : pack(examples, task->schema(), options, 0)) {
      // The first example predicts both words, the second only its first.
      std::vector<float> loss(6), next(3);
      std::vector<int32_t> word(6), follows(3);
      auto slot = b.arrays.at("target_slot").as<int32_t>();
      auto owner = b.arrays.at("example").as<int32_t>();
      auto id = b.arrays.at("masked_lm_ids").as<int32_t>();
      for (size_t m = 0; m < 2 * b.row.size(); ++m) {
        int64_t row = b.row[static_cast<size_t>(owner[static_cast<size_t>(slot[m])])];
        word[m] = row == 1 && id[m] == 19 ? 5 : id[m];
        loss[m] = row == 0 ? 1.0f : 2.0f;
      }
      for (size_t e = 0; e < b.row.size(); ++e) {
        follows[e] = b.row[e] == 0 ? 1 : 0;
        next[e] = b.row[e] == 0 ? 0.5f : 1.0f;
      }
      rows->add(b, {{"masked_lm_loss", make_array<float>({6}, loss)},
                    {"masked_lm_prediction", make_array<int32_t>({6}, word)},
                    {"next_sentence_loss", make_array<float>({3}, next)},
                    {"next_sentence_prediction", make_array<int32_t>({3}, follows)}});
    }
    while (auto row = rows->next()) {
      scorer->add(*row);
      ++seen;
    }
    EXPECT_EQ(seen, 2u);
    Json result = scorer->result();
    EXPECT_DOUBLE_EQ(result["masked_lm_accuracy"].get<double>(), 2.5 / 3);
    EXPECT_DOUBLE_EQ(result["masked_lm_loss"].get<double>(), 1.5);
    EXPECT_DOUBLE_EQ(result["next_sentence_accuracy"].get<double>(), 0.5);
    EXPECT_DOUBLE_EQ(result["next_sentence_loss"].get<double>(), 0.75);
    EXPECT_DOUBLE_EQ(result["loss"].get<double>(), 2.25);
  }
}

TEST(Pretraining, BuildsBothLosses) {
  auto task = make_pretraining(written({record()}), tiny_config(100, 8));
  Recording recording({false, DType::f32});
  Graph& graph = recording.graph();
  Inputs batch;
  for (const char* name : {"input_ids", "segment_ids", "position", "example", "is_key"}) {
    batch[name] = graph.input(name, {DType::i32, {1, 16}});
  }
  batch["number"] = graph.input("number", {DType::u32, {1, 16}});
  for (const char* name : {"first_slot", "next_sentence_labels"}) {
    batch[name] = graph.input(name, {DType::i32, {3}});
  }
  for (const char* name : {"target_slot", "masked_lm_ids"}) {
    batch[name] = graph.input(name, {DType::i32, {7}});
  }
  Outputs out = task->build(recording.scope(), batch);
  EXPECT_EQ(out.losses.at("masked_lm_loss").shape(), (Shape{7}));
  EXPECT_EQ(out.losses.at("next_sentence_loss").shape(), (Shape{3}));
  EXPECT_EQ(out.predictions.at("masked_lm_prediction").dtype(), DType::i32);
  EXPECT_EQ(task->terms()[0].epsilon, 1e-5);
}

}  // namespace
}  // namespace bertrain
