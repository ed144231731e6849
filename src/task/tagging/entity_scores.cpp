// Where entities begin and end.
#include "task/tagging/entity_scores.h"

#include <algorithm>

#include "base/error.h"

namespace bertrain {
namespace {

constexpr std::string_view kPositions = "BIOELSUM[]", kSingle = "SU[]", kLast = "EL",
                           kOutside = "O";

struct Tag {
  bool outside, starts, ends;  // starts and ends: whatever its neighbours are
  std::string_view type;
};

Tag parse(std::string_view tag) {
  size_t dash = tag.find('-');
  std::string_view position = tag.substr(0, dash);
  std::string_view type = dash == tag.npos ? "" : tag.substr(dash + 1);
  if (dash == tag.npos && (tag.size() != 1 || kPositions.find(tag[0]) == tag.npos)) {
    return {false, true, false, tag};
  }
  auto is_one_of = [&](std::string_view letters) {
    return position.size() == 1 && letters.find(position[0]) != letters.npos;
  };
  bool single = is_one_of(kSingle);
  return {position == kOutside, single || position == "B", single || is_one_of(kLast), type};
}

}  // namespace

std::vector<Entity> entities_of(const std::vector<std::string>& tags) {
  std::vector<Entity> found;
  Tag last = {true, false, false, ""};
  for (size_t i = 0; i < tags.size(); ++i) {
    Tag tag = parse(tags[i]);
    if (!tag.outside) {
      if (tag.starts || last.outside || last.ends || last.type != tag.type) {
        found.push_back({i, i, std::string(tag.type)});
      }
      found.back().end = i + 1;
    }
    last = tag;
  }
  return found;
}

void EntityScores::add(const std::vector<std::string>& gold,
                       const std::vector<std::string>& predicted) {
  check(gold.size() == predicted.size(), "one tag a word on both sides");
  words_ += gold.size();
  for (size_t i = 0; i < gold.size(); ++i) right_ += gold[i] == predicted[i];
  std::vector<Entity> wanted = entities_of(gold), guessed = entities_of(predicted);
  // Both are in order, and no two of a sentence begin at one word.
  auto of = guessed.begin();
  for (const Entity& entity : wanted) {
    of = std::find_if(of, guessed.end(), [&](const Entity& g) { return g.begin >= entity.begin; });
    bool right = of != guessed.end() && *of == entity;
    ++(right ? types_[entity.type].true_positive : types_[entity.type].false_negative);
    if (right) of->end = 0;  // counted; a real one ends behind a word
  }
  for (const Entity& entity : guessed) {
    if (entity.end > 0) ++types_[entity.type].false_positive;
  }
}

Hits EntityScores::all() const {
  Hits sum;
  for (const auto& [type, hits] : types_) {
    sum.true_positive += hits.true_positive;
    sum.false_positive += hits.false_positive;
    sum.false_negative += hits.false_negative;
  }
  return sum;
}

double EntityScores::accuracy() const {
  return words_ == 0 ? 0 : static_cast<double>(right_) / static_cast<double>(words_);
}

}  // namespace bertrain
