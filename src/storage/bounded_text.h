// Whole texts of files that are small as long as they are what they should be.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bertrain {

// As read_text(), but throws Error that names the file when it has more than `most` bytes, counted
// after gzip is unpacked: a small packed file can hold any amount.
std::string read_text_up_to(std::string_view uri, uint64_t most);

}  // namespace bertrain
