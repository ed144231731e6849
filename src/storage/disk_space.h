// Whether a run's folder has room for what the run will write.
#pragma once

#include <cstdint>
#include <string>

namespace bertrain {

// Free bytes for this user on the disk of an existing local folder.
uint64_t free_bytes(const std::string& folder);

// Throws Error naming the folder, the bytes needed and the bytes free when they do not suffice.
void require_space(const std::string& folder, uint64_t bytes, std::string_view what_for);

std::string readable_bytes(uint64_t bytes);  // "1.5 GiB", "512 bytes"

}  // namespace bertrain
