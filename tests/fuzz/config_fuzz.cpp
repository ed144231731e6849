// Any bytes as the JSON of a model's configuration, in both spellings.
#include "base/json.h"
#include "fuzz_input.h"
#include "model/config.h"

namespace bertrain {
namespace {

void fuzz(std::string_view input) {
  Json json = Json::parse(input, nullptr, false);
  refusing([&] { config_from_google(json, "fuzzed"); });
  refusing([&] { config_from_hugging_face(json, "fuzzed"); });
}

}  // namespace
}  // namespace bertrain

BERTRAIN_FUZZ(bertrain::fuzz)
