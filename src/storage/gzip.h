// Gzip (RFC 1952): recognised by its first bytes and unpacked while reading, made while writing.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "storage/storage.h"

namespace bertrain {

// `packed` unpacked if it begins as gzip does, else its bytes as they are. Concatenated members are
// one stream; zeros after the last are padding. Damage throws an Error with the name and the offset
// in the packed bytes.
std::unique_ptr<ByteReader> unpack_gzip(std::string_view name, std::unique_ptr<ByteReader> packed);

// One gzip member of the bytes appended, into `to`, which is committed with it.
std::unique_ptr<Writer> pack_gzip(std::unique_ptr<Writer> to);

}  // namespace bertrain
