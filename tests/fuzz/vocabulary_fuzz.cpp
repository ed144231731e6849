// Any bytes as a vocabulary in both of its forms, and then as a text that it is to cut.
#include "fuzz_input.h"
#include "text/tokenizer.h"
#include "text/vocabulary.h"

namespace bertrain {
namespace {

void fuzz(std::string_view input) {
  write_text(kFuzzed, input);
  refusing([] { Vocabulary::read(kFuzzed, {}); });
  refusing([] { Vocabulary::read_tokenizer(kFuzzed, {}); });
  refusing([&] {
    Tokenizer tokenizer(Vocabulary::parse("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\nab\n", "v"),
                        {});
    std::vector<int32_t> ids = tokenizer.ids(input);
    std::vector<Piece> pieces = tokenizer.pieces(input);
    check(ids.size() == pieces.size(), "both ways through the tokenizer give as many pieces");
    for (int32_t id : ids) check(id >= 0 && id < 8, "ids are of the vocabulary");
  });
}

}  // namespace
}  // namespace bertrain

BERTRAIN_FUZZ(bertrain::fuzz)
