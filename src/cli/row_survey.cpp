// One pass to count, one to fetch what was chosen: no more than row numbers is kept of the others.
#include "cli/row_survey.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/quote.h"
#include "train/signals.h"

namespace bertrain {
namespace {

using RowsByKind = std::map<std::string, std::vector<int64_t>>;

int64_t row_of(const Example& example) { return integers(example, "row").at(0); }

size_t hash_of(const Example& features) {
  return std::hash<std::string>()(serialize_example(features));
}

void copy(const Example& from, std::string_view name, Example& to) {
  auto found = from.find(name);
  if (found != from.end()) to[found->first] = found->second;
}

// One of each kind in turn until there are enough; within a kind, from its first row to its last.
std::set<int64_t> choose(const RowsByKind& rows, size_t count) {
  std::vector<const std::vector<int64_t>*> kinds;
  for (const auto& [kind, mine] : rows) kinds.push_back(&mine);
  std::vector<size_t> wanted(kinds.size());
  if (kinds.size() > count) {
    for (size_t kind : evenly_spaced(kinds.size(), count)) wanted[kind] = 1;
  } else {
    size_t left = count;
    for (bool any = true; left > 0 && any;) {
      any = false;
      for (size_t k = 0; k < kinds.size() && left > 0; ++k) {
        if (wanted[k] == kinds[k]->size()) continue;
        ++wanted[k], --left, any = true;
      }
    }
  }
  std::set<int64_t> chosen;
  for (size_t k = 0; k < kinds.size(); ++k) {
    for (size_t i : evenly_spaced(kinds[k]->size(), wanted[k])) chosen.insert(kinds[k]->at(i));
  }
  return chosen;
}

}  // namespace

std::vector<size_t> evenly_spaced(size_t size, size_t count) {
  count = std::min(size, count);
  std::vector<size_t> places;
  for (size_t i = 0; i < count; ++i) places.push_back(i * size / count);
  return places;
}

Contradictions::Contradictions(const Task& task)
    : task_(task), schema_(task.schema()), kinds_(task.target_counts()) {}

void Contradictions::add(const Example& example) {
  Example input, target;
  for (const char* name : {"input_ids", "segment_ids", "target_positions"}) {
    copy(example, name, input);
  }
  for (const auto& [name, field] : schema_) copy(example, name, target);
  Seen mine = {hash_of(target), row_of(example), kinds_->kind(example)};
  auto [at, is_new] = seen_.try_emplace(hash_of(input), mine);
  const Seen& earlier = at->second;
  if (is_new || earlier.target == mine.target) return;
  if (count_++ > 0) return;
  first_ = fmt::format("{} and {} are the same pieces with different targets",
                       task_.row_name(earlier.row), task_.row_name(mine.row));
  if (earlier.kind != mine.kind) {
    first_ += fmt::format(", {} and {}", quote(earlier.kind), quote(mine.kind));
  }
}

UnknownPieces::UnknownPieces(const Tokenizer& tokenizer)
    : unknown_(tokenizer.vocabulary().find(tokenizer.special().unknown)) {}

void UnknownPieces::add(const Example& example) {
  const std::vector<int64_t>& ids = integers(example, "input_ids");
  count_ += static_cast<uint64_t>(std::count(ids.begin(), ids.end(), unknown_));
  all_ += ids.size();
}

double UnknownPieces::share() const {
  return all_ > 0 ? static_cast<double>(count_) / static_cast<double>(all_) : 0;
}

RowSurvey survey_rows(const Task& task, const Tokenizer& tokenizer, int64_t count) {
  RowSurvey survey;
  survey.counts = task.target_counts();
  check(survey.counts != nullptr, "the targets of a task that is looked at can be counted");
  Contradictions contradictions(task);
  UnknownPieces unknown(tokenizer);
  RowsByKind rows;
  int64_t last = -1;
  ExampleStream all = task.examples("train");
  while (std::optional<Example> example = all->next()) {
    leave_if_stopped();
    bool begins_row = row_of(*example) != last;
    last = row_of(*example);
    if (begins_row) rows[survey.counts->kind(*example)].push_back(last);
    survey.counts->add(*example, begins_row);
    contradictions.add(*example);
    unknown.add(*example);
  }
  survey.contradictions = contradictions.count();
  survey.contradiction = contradictions.first();
  survey.unknown = unknown.share();
  survey.chosen = choose(rows, static_cast<size_t>(count));
  ExampleStream again = task.examples("train");
  while (std::optional<Example> example = again->next()) {
    leave_if_stopped();
    if (survey.chosen.contains(row_of(*example))) survey.few.push_back(std::move(*example));
  }
  return survey;
}

}  // namespace bertrain
