// Any bytes as the JSON of a model's configuration, in both spellings.
#include "base/checked_json.h"
#include "fuzz_input.h"
#include "model/config.h"

namespace bertrain {
namespace {

void fuzz(std::string_view input) {
  refusing([&] { config_from_google(parse_json(input, "fuzzed"), "fuzzed"); });
  refusing([&] { config_from_hugging_face(parse_json(input, "fuzzed"), "fuzzed"); });
}

}  // namespace
}  // namespace bertrain

BERTRAIN_FUZZ(bertrain::fuzz)
