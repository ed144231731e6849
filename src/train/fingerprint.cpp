// Sizes and checksums of data files.
#include "train/fingerprint.h"

#include <algorithm>
#include <cstdint>

#include "base/checked_json.h"
#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "formats/crc32c.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

constexpr uint64_t kPiece = uint64_t{1} << 20;
constexpr uint64_t kPieces = 64;

}  // namespace

Json fingerprint(const std::string& uri) {
  require_rereadable(uri);
  Storage& storage = storage_for(uri);
  std::optional<uint64_t> size = storage.size(uri);
  if (!size) throw error("{}: no such file", uri);
  std::vector<std::byte> piece;
  uint32_t crc = 0;
  bool whole = *size <= kPiece * kPieces;
  uint64_t pieces = whole ? (*size + kPiece - 1) / kPiece : kPieces;
  for (uint64_t i = 0; i < pieces; ++i) {
    // Sampled: from 0 to size − piece. The product stays below 2^64 for files up to 2^57 bytes.
    uint64_t offset = whole ? i * kPiece : (*size - kPiece) / (kPieces - 1) * i;
    if (!whole && i + 1 == kPieces) offset = *size - kPiece;
    piece.resize(std::min(kPiece, *size - offset));
    storage.read(uri, offset, piece);
    crc = crc32c(piece, crc);
  }
  return {{"bytes", *size}, {"crc32c", fmt::format("{:08x}", crc)}};
}

Json fingerprint_of_checkpoint(const std::string& uri) {
  std::vector<std::string> files = files_of_checkpoint(uri);
  if (files.size() == 1) return fingerprint(files[0]);
  Json all = Json::object();
  for (const std::string& file : files) all[file.substr(file.rfind('/') + 1)] = fingerprint(file);
  return all;
}

Json fingerprints(const std::vector<std::string>& uris) {
  if (uris.size() > kMostKeys) {
    throw usage_error("{} data files, from {} on: a run lists at most {}; join some of them",
                      uris.size(), uris.front(), kMostKeys);
  }
  Json all = Json::object();
  for (const std::string& uri : uris) all[uri] = fingerprint(uri);
  return all;
}

Json fingerprint_of_lines(const std::vector<std::string>& lines) {
  uint32_t crc = 0;
  for (const std::string& line : lines) {
    crc = crc32c(std::as_bytes(std::span(line)), crc);
    crc = crc32c(std::as_bytes(std::span("\n", 1)), crc);
  }
  return {{"lines", lines.size()}, {"crc32c", fmt::format("{:08x}", crc)}};
}

}  // namespace bertrain
