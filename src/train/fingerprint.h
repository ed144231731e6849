// What tells whether the data files of a run are still the same.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/json.h"

namespace bertrain {

// {"train.tsv": {"bytes": 1234, "crc32c": "9a3f0c11"}, …} in the order given. Files above 64 MiB
// are sampled at 64 evenly spaced places of 1 MiB, the first and the last among them, so that a
// start does not read a corpus twice. Throws Error for a file that cannot be read.
Json fingerprints(const std::vector<std::string>& uris);
Json fingerprint(const std::string& uri);  // of one file: {"bytes": …, "crc32c": …}

// Of a checkpoint that open_checkpoint reads: of its one file, or of the index and the files of
// weights in several, by their names without the folder, which may move.
Json fingerprint_of_checkpoint(const std::string& uri);

// Of a list in its order, as that of a vocabulary: {"lines": 22, "crc32c": "9a3f0c11"}.
Json fingerprint_of_lines(const std::vector<std::string>& lines);

}  // namespace bertrain
