// Models of transformers whose masked LM has an output layer of its own: used without that head only.
#include "cli/model_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "base/error_message.h"
#include "base/log.h"
#include "checkpoint/checkpoint.h"
#include "cli/convert_command.h"
#include "cli/embed_command.h"
#include "cli/finetune_command.h"
#include "cli/predict_command.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

using testing::HasSubstr;

const std::string kData = BERTRAIN_TEST_DATA;
const std::string kTied = "mem://model_source/tied", kUntied = "mem://model_source/untied";
constexpr const char* kSaid =
    "'cls.predictions.decoder.weight', an output layer of its own for masked words, is not used";

void write_text(const std::string& uri, const std::string& text) {
  auto writer = storage_for(uri).create(uri, Exists::replace);
  writer->append(std::as_bytes(std::span(text)));
  writer->commit();
}

// What the command says, to the log and as its result.
std::string said(const Command& command, const std::vector<std::string>& args) {
  std::string log;
  LogSink sink([&](std::string_view line) { log += std::string(line) + "\n"; });
  std::ostringstream out;
  const std::vector<std::string_view> views(args.begin(), args.end());
  command.run(views, out);
  return log + out.str();
}

class UntiedModel : public testing::Test {
 protected:
  // The same model twice; that in kUntied has a decoder with one number changed.
  static void SetUpTestSuite() {
    said(kConvertCommand, {"--from=" + kData + "/tf2/tf1", "--to=" + kTied,
                           "--bert_config_file=" + kData + "/tf2/bert_config.json",
                           "--vocab_file=" + kData + "/text/vocab-uncased.txt"});
    const std::string file = "/model.safetensors";
    auto reader = open_checkpoint(kTied + file);
    auto writer = create_checkpoint(kUntied + file, CheckpointFormat::safetensors);
    for (const auto& [name, type] : reader->tensors()) writer->write(name, reader->read(name));
    Array table = reader->read("bert.embeddings.word_embeddings.weight");
    std::vector<float> values(table.as<float>().begin(), table.as<float>().end());
    values.at(5) += 1;
    writer->write("cls.predictions.decoder.weight", make_array<float>(table.type.shape, values));
    writer->commit();
    std::string config = read_text(kTied + "/config.json");
    write_text(kUntied + "/config.json",
               config.insert(config.find('{') + 1, "\"tie_word_embeddings\": false,"));
    for (const char* name : {"/vocab.txt", "/tokenizer_config.json"}) {
      write_text(kUntied + name, read_text(kTied + name));
    }
    write_text("mem://model_source/texts.txt", "the old cat\n");
    write_text("mem://model_source/masked.txt", "the old [MASK]\n");
  }
};

TEST_F(UntiedModel, EmbedsAsWithoutTheLayerAndSaysSo) {
  const std::string input = "--input_file=mem://model_source/texts.txt";
  std::vector<std::string> found;
  for (const std::string& model : {kTied, kUntied}) {
    found.push_back(model + ".jsonl");
    std::string told =
        said(kEmbedCommand, {"--model_dir=" + model, input, "--output_file=" + found.back()});
    EXPECT_EQ(told.find(kSaid) != told.npos, model == kUntied) << told;
  }
  EXPECT_EQ(read_text(found[0]), read_text(found[1]));
}

TEST_F(UntiedModel, IsAnEncoderToFinetuneAndToConvert) {
  EXPECT_THAT(
      said(kConvertCommand, {"--from=" + kUntied, "--to=mem://model_source/encoder/model.ckpt-1",
                             "--format=tf2-encoder"}),
      HasSubstr("\n  cls.predictions.decoder.weight\n"));
  write_text("mem://model_source/rows.tsv", "text\tlabel\na cat\tx\na dog\ty\n");
  const std::string run = testing::TempDir() + "/untied_run";
  EXPECT_THAT(said(kFinetuneCommand,
                   {"--train_file=mem://model_source/rows.tsv", "--init_checkpoint=" + kUntied,
                    "--num_train_steps=1", "--train_batch_size=2", "--max_seq_length=8",
                    "--overwrite", "--output_dir=" + run}),
              HasSubstr(kSaid));
}

TEST_F(UntiedModel, IsRefusedWhereMaskedWordsAreGuessedOrTheHeadKept) {
  const std::string problem = "'cls.predictions.decoder.weight' is not equal to";
  auto fails = [](const Command& command, const std::vector<std::string>& args) {
    return message_of([&] { said(command, args); });
  };
  EXPECT_THAT(fails(kPredictCommand,
                    {"--model_dir=" + kUntied, "--input_file=mem://model_source/masked.txt"}),
              HasSubstr(problem));
  EXPECT_THAT(
      fails(kConvertCommand, {"--from=" + kUntied, "--to=mem://model_source/refused/model.ckpt"}),
      HasSubstr(problem));
  EXPECT_EQ(fails(kPredictCommand,
                  {"--model_dir=" + kTied, "--input_file=mem://model_source/masked.txt"}),
            "no error");
}

}  // namespace
}  // namespace bertrain
