// Output layers of their own beside tied ones.
#include "cli/model_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error_message.h"
#include "checkpoint/checkpoint.h"

namespace bertrain {
namespace {

using testing::HasSubstr;

// What require_tied says of a table and a bias with the output layer's own as given.
std::string tied(const std::string& prefix, const std::vector<float>& table,
                 const std::vector<float>& bias) {
  constexpr const char* kFile = "mem://tied/model.safetensors";
  auto writer = create_checkpoint(kFile, CheckpointFormat::safetensors);
  writer->write("bert.embeddings.word_embeddings.weight",
                make_array<float>({2, 2}, std::vector<float>{1, 2, 3, 4}));
  writer->write(prefix + "bias", make_array<float>({2}, std::vector<float>{5, 6}));
  if (!table.empty()) writer->write(prefix + "decoder.weight", make_array<float>({2, 2}, table));
  if (!bias.empty()) writer->write(prefix + "decoder.bias", make_array<float>({2}, bias));
  writer->commit();
  return message_of([&] { require_tied(*open_checkpoint(kFile)); });
}

TEST(RequireTied, EqualOnesAreTheSameOthersAreRefusedByName) {
  for (const char* prefix : {"cls.predictions.", "module.cls.predictions.", "lm_head."}) {
    std::string start = prefix;
    EXPECT_EQ(tied(start, {}, {}), "no error");
    EXPECT_EQ(tied(start, {1, 2, 3, 4}, {5, 6}), "no error");
    EXPECT_THAT(tied(start, {1, 2, 3, 5}, {}),
                HasSubstr("'" + start +
                          "decoder.weight' is not equal to "
                          "'bert.embeddings.word_embeddings.weight'"));
    EXPECT_THAT(tied(start, {1, 2, 3, 4}, {5, 7}),
                HasSubstr("'" + start + "decoder.bias' is not equal to '" + start + "bias'"));
  }
}

}  // namespace
}  // namespace bertrain
