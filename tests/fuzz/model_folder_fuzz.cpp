// Any bytes as each of the JSON files of a model folder, and the folder's shape from what was read.
#include "checkpoint/model_folder.h"
#include "fuzz_input.h"
#include "model/config.h"

namespace bertrain {
namespace {

struct File {
  const char *name, *sound;
};
constexpr File kFiles[] = {
    {"config.json",
     R"({"vocab_size": 7, "num_labels": 3, "architectures": ["BertForSequenceClassification"]})"},
    {"tokenizer_config.json", R"({"do_lower_case": true})"},
    {"tokenizer.json", R"({"normalizer": {"lowercase": true}})"},
    {"special_tokens_map.json", R"({"cls_token": "[CLS]"})"},
    {"bertrain.json", R"({"task": null})"}};

void fuzz(std::string_view input) {
  const std::string folder = "mem://folder/";
  for (const File& fuzzed : kFiles) {
    for (const File& file : kFiles) {
      write_text(folder + file.name, &file == &fuzzed ? input : file.sound);
    }
    refusing([&] {
      ModelFolder read = read_model_folder(folder);
      config_from_hugging_face(read.config, folder);
    });
  }
}

}  // namespace
}  // namespace bertrain

BERTRAIN_FUZZ(bertrain::fuzz)
