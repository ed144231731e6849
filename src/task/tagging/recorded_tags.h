// Recorded windows of tagged sentences back to sentences.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "task/labels.h"
#include "task/recorded.h"
#include "task/tagging/conll.h"
#include "task/tagging/tag_windows.h"

namespace bertrain {

// Hands each sentence to `take` in order, or the first `most` where that is not 0: its windows, and as
// many words as it has tags, without text; its line is the number of its first record. Sentences without
// a tag are left out with a line in the log. Returns how many records there are.
uint64_t load_recorded_tags(
    RecordedReader& reader, const Labels& labels, int64_t most,
    const std::function<void(const std::vector<TagWindow>&, const ConllSentence&)>& take);

}  // namespace bertrain
