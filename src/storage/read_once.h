// Which names can be opened only once.
#pragma once

#include <string_view>

namespace bertrain {

// Whether what is read is gone: "-", pipes, devices, sockets; not regular files, nor objects. Such a
// name must be opened once only, and nothing of it can be looked at in advance.
bool is_read_once(std::string_view uri);

}  // namespace bertrain
