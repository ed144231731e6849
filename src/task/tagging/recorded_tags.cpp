// Records of one sentence lie one behind the other; each tags the words that follow those of the last.
#include "task/tagging/recorded_tags.h"

#include <string>
#include <utility>

#include "base/error.h"
#include "base/log.h"

namespace bertrain {
namespace {

struct Tagged {
  std::vector<uint32_t> positions;
  std::vector<std::string> tags;
};

// The tags by name where the record has them, as some need not be the model's; else by number.
Tagged tags_of(const RecordedReader& reader, const Labels& labels, size_t tokens) {
  Tagged found;
  const auto& numbers =
      reader.integers_of("label_ids", reader.slots(), -1, static_cast<int64_t>(labels.size()) - 1);
  if (!reader.has("tags")) {
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] < 0) continue;
      if (i >= tokens) reader.fail("label_ids", "a label of a slot without a token", "-1 there");
      found.positions.push_back(static_cast<uint32_t>(i));
      found.tags.push_back(labels.name(static_cast<size_t>(numbers[i])));
    }
    return found;
  }
  found.tags = reader.texts("tags");
  const auto& positions =
      reader.integers_of("tag_positions", found.tags.size(), 0, static_cast<int64_t>(tokens) - 1);
  if (positions.size() != found.tags.size()) {
    reader.fail("tag_positions", fmt::format("{} values", positions.size()),
                fmt::format("{}, one for each tag,", found.tags.size()));
  }
  for (size_t i = 0; i < positions.size(); ++i) {
    int64_t number = numbers[static_cast<size_t>(positions[i])];
    if ((i > 0 && positions[i] <= positions[i - 1]) || number != labels.find(found.tags[i])) {
      reader.fail("tag_positions", std::to_string(positions[i]),
                  "rising places of label_ids that are those of the tags");
    }
    found.positions.push_back(static_cast<uint32_t>(positions[i]));
  }
  return found;
}

// One sentence as far as it was read.
struct Part {
  std::vector<TagWindow> windows;
  ConllSentence sentence;
  int64_t id = -1;

  void add(const PairInput& input, Tagged tagged) {
    TagWindow window;
    window.ids = input.ids;
    window.first_word = static_cast<uint32_t>(sentence.tags.size());
    window.positions = std::move(tagged.positions);
    windows.push_back(std::move(window));
    for (std::string& tag : tagged.tags) {
      sentence.word_lines.push_back(0);
      sentence.words.emplace_back();
      sentence.tags.push_back(std::move(tag));
    }
    if (sentence.words.size() > kMostSentenceWords) {
      throw error("a sentence of more than {} words", kMostSentenceWords);
    }
  }
};

}  // namespace

uint64_t load_recorded_tags(
    RecordedReader& reader, const Labels& labels, int64_t most,
    const std::function<void(const std::vector<TagWindow>&, const ConllSentence&)>& take) {
  constexpr int64_t most_number = INT64_MAX - 1;
  uint64_t records = 0, left_out = 0;
  int64_t taken = 0;
  Part part;
  auto finish = [&] {
    if (part.windows.empty()) return;
    bool has_words = !part.sentence.words.empty();
    left_out += !has_words;
    taken += has_words;
    if (has_words) take(part.windows, part.sentence);
    part = {};
  };
  while (reader.next()) {
    int64_t id = reader.has("sentence_id") ? reader.integer("sentence_id", 0, most_number) : -1;
    int64_t sub =
        reader.has("sub_sentence_id") ? reader.integer("sub_sentence_id", 0, most_number) : 0;
    if (id < 0 || id != part.id) finish();
    if (most != 0 && taken == most) break;
    if (sub != std::ssize(part.windows)) {
      reader.fail("sub_sentence_id", std::to_string(sub), std::to_string(part.windows.size()));
    }
    part.id = id;
    if (part.windows.empty()) part.sentence.first_line = reader.number();
    PairInput input = reader.input();
    Tagged tagged = tags_of(reader, labels, input.ids.size());
    part.add(input, std::move(tagged));
    ++records;
  }
  finish();
  if (left_out > 0) log_line("{} recorded sentences without a tag are left out", left_out);
  return records;
}

}  // namespace bertrain
