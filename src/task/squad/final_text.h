// From the pieces of an answer back to the part of the original text that they are.
#pragma once

#include <string>
#include <string_view>

#include "text/tokenizer.h"

namespace bertrain {

// get_final_text of run_squad.py: finds `predicted` (lower-cased, as pieces are) in the basic tokens of
// `original` and gives the part of `original` with the same characters that are no blanks: of "Steve
// Smith's", "steve smith" is "Steve Smith". Where characters cannot be matched one to one (an accent
// was stripped into two, a piece is [UNK]), all of `original`.
std::string final_text(std::string_view predicted, std::string_view original,
                       const Tokenizer& tokenizer);

// Pieces as a text: " ##" and "##" removed, blanks of any kind made one blank, none at the ends.
std::string joined_pieces(std::string_view pieces_and_blanks);

}  // namespace bertrain
