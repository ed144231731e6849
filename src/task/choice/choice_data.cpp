// Pairs of context and choice, one behind the other.
#include "task/choice/choice_data.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/first_failure.h"
#include "base/log.h"
#include "base/quote.h"

namespace bertrain {
namespace {

using Integers = std::vector<int64_t>;

}  // namespace

std::vector<PairInput> encode_choices(const std::vector<ChoiceRow>& rows,
                                      const PairEncoder& encoder) {
  if (rows.empty()) return {};
  size_t each = rows[0].choices.size();
  std::vector<PairInput> inputs(rows.size() * each);
  FirstFailure failure;
#pragma omp parallel for schedule(dynamic, 16) if (rows.size() > 16)
  for (size_t i = 0; i < inputs.size(); ++i) {
    failure.run([&] {
      const ChoiceRow& row = rows[i / each];
      inputs[i] = encoder.encode(row.context, row.choices.at(i % each));
    });
  }
  failure.rethrow();
  return inputs;
}

Example choice_example(std::span<const ChoicePart> choices, int64_t places, int64_t label,
                       const std::string& id, int64_t row) {
  check(places >= std::ssize(choices), "a row has no more choices than there are places");
  Integers ids, segments, choice, position, first(static_cast<size_t>(places), 0);
  std::vector<float> there(static_cast<size_t>(places), 0.0F);
  for (size_t c = 0; c < choices.size(); ++c) {
    const ChoicePart& part = choices[c];
    first[c] = std::ssize(ids);
    there[c] = 1;
    for (size_t i = 0; i < part.ids.size(); ++i) {
      ids.push_back(part.ids[i]);
      segments.push_back(i < part.first ? 0 : 1);
      choice.push_back(static_cast<int64_t>(c));
      position.push_back(static_cast<int64_t>(i));
    }
  }
  Example example = {{"input_ids", std::move(ids)},
                     {"segment_ids", std::move(segments)},
                     {"choice", std::move(choice)},
                     {"choice_position", std::move(position)},
                     {"choice_first", std::move(first)},
                     {"choice_there", std::move(there)},
                     {"label", Integers{std::max<int64_t>(label, 0)}},
                     {"row", Integers{row}}};
  if (label >= 0) example["gold"] = std::vector<std::string>{std::to_string(label)};
  if (!id.empty()) example["id"] = std::vector<std::string>{id};
  return example;
}

void ChoiceData::add(const std::vector<ChoiceRow>& rows, const PairEncoder& encoder) {
  if (rows.empty()) return;
  choices_ = std::ssize(rows[0].choices);
  add_choices(encode_choices(rows, encoder));
  for (const ChoiceRow& row : rows) {
    labels_.push_back(row.label);
    row_ids_.push_back(row.id);
    line_.push_back(row.line);
  }
}

void ChoiceData::add_choices(std::span<const PairInput> inputs) {
  for (const PairInput& input : inputs) {
    ids_.insert(ids_.end(), input.ids.begin(), input.ids.end());
    end_.push_back(ids_.size());
    first_.push_back(input.first);
    cut_ += input.cut > 0;
  }
}

uint64_t ChoiceData::add(RecordedReader& reader, int64_t most) {
  uint64_t records = 0;
  std::vector<PairInput> inputs;
  int64_t label = 0;
  std::string id;
  while ((most == 0 || std::ssize(labels_) < most) && reader.next()) {
    ++records;
    const Integers& place = reader.integers_of("choice", 2, 0, static_cast<int64_t>(kMostChoices));
    if (choices_ == 0 && place[1] >= 2) choices_ = place[1];
    if (place[0] != std::ssize(inputs) || place[1] != choices_) {
      reader.fail("choice", fmt::format("{} of {}", place[0], place[1]),
                  fmt::format("{} of {}", inputs.size(), std::max<int64_t>(choices_, 2)));
    }
    int64_t mine = reader.integer("label_ids", 0, choices_ - 1);
    if (!inputs.empty() && mine != label) {
      reader.fail("label_ids", std::to_string(mine),
                  fmt::format("{}, as of the row's first choice,", label));
    }
    label = mine;
    std::string name = reader.text("id");
    if (!inputs.empty() && name != id) {
      reader.fail("id", quote(name), fmt::format("{}, as of the row's first choice,", quote(id)));
    }
    id = std::move(name);
    inputs.push_back(reader.input());
    if (std::ssize(inputs) < choices_) continue;
    add_choices(inputs);
    labels_.push_back(label);
    row_ids_.push_back(id);
    line_.push_back(reader.number());
    inputs.clear();
  }
  if (!inputs.empty()) {
    throw error("{}: the last row has {} of {} choices", name_, inputs.size(), choices_);
  }
  log_line("{}: {} rows of {} choices in {} records", name_, size(), choices_, records);
  return records;
}

Example ChoiceData::example(uint64_t index, int64_t places) const {
  std::vector<ChoicePart> parts;
  for (int64_t c = 0; c < choices_; ++c) {
    uint64_t at = index * static_cast<uint64_t>(choices_) + static_cast<uint64_t>(c);
    uint64_t begin = at == 0 ? 0 : end_[at - 1];
    parts.push_back({std::span(ids_).subspan(begin, end_.at(at) - begin), first_[at]});
  }
  return choice_example(parts, places, labels_.at(index), row_ids_[index],
                        static_cast<int64_t>(index));
}

std::string ChoiceData::place(int64_t row) const {
  return fmt::format("{}:{}", name_, line_.at(static_cast<size_t>(row)));
}

void ChoiceData::report() const {
  auto count = static_cast<double>(std::max<size_t>(end_.size(), 1));
  log_line("{}: {} rows of {} choices, {:.1f} tokens each; {} choices ({:.1f} %) were cut", name_,
           size(), choices_, static_cast<double>(ids_.size()) / count, cut_,
           100.0 * static_cast<double>(cut_) / count);
}

ExampleStream stream(std::shared_ptr<const ChoiceData> data, int64_t places) {
  uint64_t size = data->size();
  return indexed(size, [=](uint64_t index) { return data->example(index, places); });
}

}  // namespace bertrain
