// Values of an extended model: what it had stays to the bit, what is new is a mean.
#include "cli/vocab_extend.h"

#include <gtest/gtest.h>

#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "cli/conversion.h"
#include "model/bert.h"
#include "storage/storage.h"
#include "text/tokenizer.h"
#include "text/vocabulary.h"

namespace bertrain {
namespace {

void write_text(const std::string& uri, const std::string& text) {
  auto writer = storage_for(uri).create(uri, Exists::replace);
  writer->append(std::as_bytes(std::span(text)));
  writer->commit();
}

bool same_bytes(const float* a, const float* b, size_t count) {
  return std::memcmp(a, b, count * sizeof(float)) == 0;
}

class VocabExtend : public testing::Test {
 protected:
  // The model of tests/data/tf2 with a masked LM, where the lines 300 and 301 are [unusedN]; words of
  // one old piece, of several, and of none but [UNK].
  void SetUp() override {
    std::vector<std::string> tokens =
        Vocabulary::read(kData + "/text/vocab-uncased.txt", {}).tokens();
    tokens[299] = "[unused0]";
    tokens[300] = "[unused1]";
    std::string lines;
    for (const std::string& token : tokens) lines += token + "\n";
    write_text(kFolder + "/vocab.txt", lines);
    write_text(kFolder + "/words.txt", "riverbank\nlongish\ncatlike\nthelongerriver\n");
    old_tokenizer_.emplace(Vocabulary::read(kFolder + "/vocab.txt", {}));
    std::vector<std::string> args = {"--from=" + kData + "/tf2/tf1",
                                     "--bert_config_file=" + kData + "/tf2/bert_config.json",
                                     "--vocab_file=" + kFolder + "/vocab.txt",
                                     "--words_file=" + kFolder + "/words.txt",
                                     "--format=safetensors",
                                     "--overwrite",
                                     "--to=" + kFolder + "/model.safetensors"};
    std::vector<std::string_view> views(args.begin(), args.end());
    std::ostringstream out;
    kVocabExtendCommand.run(views, out);
    old_ = open_checkpoint(kData + "/tf2/tf1");
    new_ = open_checkpoint(kFolder + "/model.safetensors");
  }

  static inline const std::string kData = BERTRAIN_TEST_DATA;
  static inline const std::string kFolder = "mem://vocab_extend";
  std::optional<Tokenizer> old_tokenizer_;
  std::unique_ptr<CheckpointReader> old_, new_;
};

TEST_F(VocabExtend, RowsAndBiasesOfNewPiecesAreTheMeansOfTheOldOnes) {
  const std::vector<std::pair<std::string, size_t>> words = {
      {"riverbank", 299}, {"longish", 300}, {"catlike", 586}, {"thelongerriver", 587}};
  for (std::string_view name : {kWordTable, kOutputBias}) {
    Array before = old_->read(name), after = new_->read(name);
    ASSERT_EQ(before.type.shape[0], 586);
    ASSERT_EQ(after.type.shape[0], 588);
    auto width = static_cast<size_t>(before.size() / 586);
    for (const auto& [word, row] : words) {
      std::vector<int32_t> pieces = old_tokenizer_->ids(word);
      ASSERT_GT(pieces.size(), 1U) << word;
      for (size_t column = 0; column < width; ++column) {
        double sum = 0;
        for (int32_t id : pieces) {
          sum += before.as<float>()[static_cast<size_t>(id) * width + column];
        }
        auto mean = static_cast<float>(sum / static_cast<double>(pieces.size()));
        EXPECT_EQ(after.as<float>()[row * width + column], mean) << name << " of " << word;
      }
    }
  }
}

TEST_F(VocabExtend, AllElseStaysAsItWasToTheBit) {
  size_t compared = 0;
  for (const auto& [name, type] : old_->tensors()) {
    Array before = old_->read(name), after = new_->read(name);
    const float *a = before.as<float>().data(), *b = after.as<float>().data();
    ++compared;
    if (name != kWordTable && name != kOutputBias) {
      ASSERT_EQ(before.type, after.type) << name;
      EXPECT_TRUE(same_bytes(a, b, static_cast<size_t>(before.size()))) << name;
      continue;
    }
    auto width = static_cast<size_t>(before.size() / 586);
    for (size_t row = 0; row < 586; ++row) {
      if (row == 299 || row == 300) continue;
      EXPECT_TRUE(same_bytes(a + row * width, b + row * width, width)) << name << " row " << row;
    }
  }
  EXPECT_EQ(compared, 46U);
}

}  // namespace
}  // namespace bertrain
