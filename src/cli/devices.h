// Which backend a --device names.
#pragma once

#include <memory>
#include <string>

#include "backend/backend.h"

namespace bertrain {

// "cpu" or "reference". Throws a usage error for devices that this build has no backend for, and
// for unknown ones.
std::unique_ptr<Backend> open_backend(const std::string& device, const BackendOptions& options);

}  // namespace bertrain
