// Values of a model whose table is trimmed: the rows that are left are the source's.
#include "cli/convert_command.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "cli/conversion.h"
#include "cli/model_source.h"
#include "model/bert.h"
#include "storage/storage.h"
#include "text/vocabulary.h"

namespace bertrain {
namespace {

const std::string kData = BERTRAIN_TEST_DATA;
constexpr size_t kKept = 500;

// SOURCE (of tests/data/tf2) in one file, by a vocabulary of its first 500 pieces.
std::unique_ptr<CheckpointReader> trimmed(const std::string& source) {
  const std::string vocabulary = "mem://trim/vocab.txt", model = "mem://trim/model.safetensors";
  std::vector<std::string> tokens =
      Vocabulary::read(kData + "/text/vocab-uncased.txt", {}).tokens();
  std::string lines;
  for (size_t i = 0; i < kKept; ++i) lines += tokens.at(i) + "\n";
  auto writer = storage_for(vocabulary).create(vocabulary, Exists::replace);
  writer->append(std::as_bytes(std::span(lines)));
  writer->commit();
  const std::vector<std::string> args = {"--from=" + source,
                                         "--bert_config_file=" + kData + "/tf2/bert_config.json",
                                         "--vocab_file=" + vocabulary,
                                         "--trim_vocab",
                                         "--format=safetensors",
                                         "--overwrite",
                                         "--to=" + model};
  const std::vector<std::string_view> views(args.begin(), args.end());
  std::ostringstream out;
  kConvertCommand.run(views, out);
  return open_checkpoint(model);
}

// Each tensor's bytes are the source's first ones; those with fewer rows are `cut`.
void expect_first_rows(const std::string& source, const std::set<std::string>& cut) {
  std::unique_ptr<CheckpointReader> after = trimmed(source), before = open_weights(source, true);
  std::set<std::string> shorter;
  for (const auto& [name, type] : after->tensors()) {
    Array old = before->read(name), kept = after->read(name);
    ASSERT_LE(kept.byte_size(), old.byte_size()) << name;
    EXPECT_EQ(std::memcmp(kept.bytes.get(), old.bytes.get(), kept.byte_size()), 0) << name;
    if (kept.type == old.type) continue;
    shorter.insert(name);
    ASSERT_EQ(old.type.shape.at(0), 586) << name;
    EXPECT_EQ(kept.type.shape.at(0), static_cast<int64_t>(kKept)) << name;
    EXPECT_EQ(kept.byte_size() * 586, old.byte_size() * kKept) << name;
  }
  EXPECT_EQ(shorter, cut);
}

TEST(ConvertTrimVocab, RowsOfTheTableAndOfTheBiasThatAreLeftAreTheSources) {
  expect_first_rows(kData + "/tf2/tf1", {std::string(kWordTable), std::string(kOutputBias)});
}

TEST(ConvertTrimVocab, SlotsOfTheOptimizerAreCutAsTheirTableIs) {
  const std::string table(kWordTable);
  expect_first_rows(kData + "/tf2/classifier", {table, table + "/adam_m", table + "/adam_v"});
}

}  // namespace
}  // namespace bertrain
