// Whether a file is a shared library that can be mapped, said before the system's loader sees it.
#pragma once

#include <string>

namespace bertrain {

// Throws a usage Error that says what the file is instead: not there, a folder, text, for another
// machine, cut short (of which the loader would die).
void require_shared_object(const std::string& path);

}  // namespace bertrain
