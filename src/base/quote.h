// Text of a user's file inside a message: short, on one line, and without control characters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bertrain {

// 'text' in quotes; after about 100 bytes "…", never inside a UTF-8 character; control characters as
// \n, \t, \x1b.
std::string quote(std::string_view text);

// The whole text, with control characters as in quote(), other than those in `kept`.
std::string printable(std::string_view text, std::string_view kept = "");

// 'a', 'b', 'c'; of more than 20 the number of the others: "'a', …, and 980 more".
std::string quote_list(const std::vector<std::string>& texts);

// a, b, c; of more than 20 "a, … and 980 more": names that we gave ourselves, such as tensors'.
std::string some_of(const std::vector<std::string>& names, std::string_view separator = ", ");

}  // namespace bertrain
