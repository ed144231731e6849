// Examples to the arrays of their micro-batches.
#include "data/packer.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/error.h"

namespace bertrain {
namespace {

constexpr std::string_view kInputIds = "input_ids", kSegmentIds = "segment_ids",
                           kTargetPositions = "target_positions", kRow = "row";

const std::vector<int64_t> kNone;

const std::vector<int64_t>& target_positions(const Example& example) {
  return example.contains(kTargetPositions) ? integers(example, kTargetPositions) : kNone;
}

ExampleSize size_of_example(const Example& example, int64_t padded_length) {
  auto slots = static_cast<int64_t>(integers(example, kInputIds).size());
  auto targets = static_cast<int64_t>(target_positions(example).size());
  return {std::max(slots, padded_length), targets};
}

void require_length(std::string_view name, size_t found, size_t wanted, std::string_view of) {
  if (found != wanted) {
    throw error("feature {} has {} values, but {} {} wanted ({})", name, found, wanted,
                wanted == 1 ? "is" : "are", of);
  }
}

// Memory of an array while it is filled.
class Column {
 public:
  Column(DType dtype, Shape shape) : type_{dtype, std::move(shape)} {
    bytes_.resize(static_cast<size_t>(elements(type_.shape)) * bertrain::size_of(dtype));
  }

  template <class T>
  T* as() {
    check(DTypeOf<T>::value == type_.dtype, "a column is filled with values of its own type");
    return reinterpret_cast<T*>(bytes_.data());
  }

  // values[i] → element first + i; numbers that the type cannot hold are an Error.
  void set(int64_t first, const Values& values) {
    if (const auto* numbers = std::get_if<std::vector<int64_t>>(&values)) {
      switch (type_.dtype) {
        case DType::i32:
          return copy<int32_t>(first, *numbers);
        case DType::u32:
          return copy<uint32_t>(first, *numbers);
        case DType::i64:
          return copy<int64_t>(first, *numbers);
        case DType::f32:
          std::copy(numbers->begin(), numbers->end(), as<float>() + first);
          return;
        default:
          throw std::logic_error("a field of a batch is of i32, u32, i64 or f32");
      }
    }
    const auto* reals = std::get_if<std::vector<float>>(&values);
    if (reals == nullptr || type_.dtype != DType::f32) {
      throw error("{} cannot fill a field of {}", reals == nullptr ? "strings" : "floats",
                  name_of(type_.dtype));
    }
    std::copy(reals->begin(), reals->end(), as<float>() + first);
  }

  Array finish() const {
    return make_array(type_, [&](std::span<std::byte> to) {
      if (!bytes_.empty()) std::memcpy(to.data(), bytes_.data(), bytes_.size());
    });
  }

 private:
  template <class T>
  void copy(int64_t first, const std::vector<int64_t>& values) {
    T* to = as<T>() + first;
    for (int64_t value : values) {
      if (value != static_cast<int64_t>(static_cast<T>(value))) {
        throw error("the number {} does not fit {}", value, name_of(type_.dtype));
      }
      *to++ = static_cast<T>(value);
    }
  }

  ArrayType type_;
  std::vector<std::byte> bytes_;
};

int64_t extent_of(Axis axis, const Capacity& capacity) {
  switch (axis) {
    case Axis::slot:
      return capacity.rows * capacity.slots;
    case Axis::example:
      return capacity.examples;
    case Axis::target:
      return capacity.targets;
    case Axis::none:
      break;
  }
  throw std::logic_error("a field of a batch lies on the slot, example or target axis");
}

Shape shape_of(const Field& field, const Capacity& capacity) {
  Shape shape;
  if (field.axis == Axis::slot) {
    shape = {capacity.rows, capacity.slots};
  } else {
    shape = {extent_of(field.axis, capacity)};
  }
  shape.insert(shape.end(), field.rest.begin(), field.rest.end());
  return shape;
}

// One micro-batch while its examples are put in.
class Filling {
 public:
  Filling(const Capacity& capacity, const Schema& schema, const PackOptions& options)
      : capacity_(capacity), schema_(schema), options_(options) {
    Shape slots = {capacity.rows, capacity.slots};
    for (std::string_view name : {kInputIds, kSegmentIds, std::string_view("position"),
                                  std::string_view("example"), std::string_view("is_key")}) {
      add_column(name, DType::i32, slots);
    }
    add_column("number", DType::u32, slots);
    std::fill_n(column("example").as<int32_t>(), elements(slots), -1);
    add_column("first_slot", DType::i32, {capacity.examples});
    add_column("example_number", DType::u32, {capacity.examples});
    add_column("example_weight", DType::f32, {capacity.examples});
    if (capacity.targets > 0) add_column("target_slot", DType::i32, {capacity.targets});
    for (const auto& [name, field] : schema) {
      add_column(name, field.dtype, shape_of(field, capacity));
    }
    batch_.capacity = capacity;
  }

  void add(const Example& example, int64_t first_slot, uint32_t number, int64_t row) {
    const std::vector<int64_t>& ids = integers(example, kInputIds);
    const std::vector<int64_t>& segments = integers(example, kSegmentIds);
    const std::vector<int64_t>& positions = target_positions(example);
    auto tokens = static_cast<int64_t>(ids.size());
    require_length(kSegmentIds, segments.size(), ids.size(), "one a token");
    auto e = static_cast<int32_t>(batch_.row.size());
    column(kInputIds).set(first_slot, example.find(kInputIds)->second);
    column(kSegmentIds).set(first_slot, example.find(kSegmentIds)->second);
    auto width = static_cast<size_t>(std::max(tokens, options_.padded_length));
    std::iota(at<int32_t>("position", first_slot), at<int32_t>("position", first_slot) + width, 0);
    std::fill_n(at<int32_t>("example", first_slot), width, e);
    std::fill_n(at<int32_t>("is_key", first_slot),
                options_.padding_is_key ? width : static_cast<size_t>(tokens), 1);
    std::fill_n(at<uint32_t>("number", first_slot), width, number);
    *at<int32_t>("first_slot", e) = static_cast<int32_t>(first_slot);
    *at<uint32_t>("example_number", e) = number;
    *at<float>("example_weight", e) = 1;
    for (size_t i = 0; i < positions.size(); ++i) {
      if (positions[i] < 0 || positions[i] >= tokens) {
        throw error("target {} is at position {} of an example of {} tokens", i, positions[i],
                    tokens);
      }
      *at<int32_t>("target_slot", targets_ + static_cast<int64_t>(i)) =
          static_cast<int32_t>(first_slot + positions[i]);
    }
    for (const auto& [name, field] : schema_) {
      add_field(example, name, field, first_slot, e, ids.size(), positions.size());
    }
    targets_ += static_cast<int64_t>(positions.size());
    batch_.tokens += tokens;
    batch_.row.push_back(row);
    if (options_.keep_notes) batch_.notes.push_back(notes_of(example));
  }

  Batch finish() {
    for (const auto& [name, column] : columns_) batch_.arrays[name] = column.finish();
    return std::move(batch_);
  }

 private:
  void add_column(std::string_view name, DType dtype, Shape shape) {
    bool added = columns_.emplace(name, Column(dtype, std::move(shape))).second;
    check(added, "a task's field has a name of its own");
  }
  Column& column(std::string_view name) { return columns_.find(name)->second; }
  template <class T>
  T* at(std::string_view name, int64_t index) {
    return column(name).as<T>() + index;
  }

  void add_field(const Example& example, const std::string& name, const Field& field,
                 int64_t first_slot, int64_t e, size_t tokens, size_t targets) {
    auto found = example.find(name);
    int64_t rest = elements(field.rest);
    auto width = static_cast<size_t>(rest);
    int64_t first = 0;
    size_t wanted = 0;
    switch (field.axis) {
      case Axis::slot:
        first = first_slot * rest;
        wanted = tokens * width;
        break;
      case Axis::target:
        first = targets_ * rest;
        wanted = targets * width;
        break;
      default:
        first = e * rest;
        wanted = width;
    }
    if (found == example.end()) {
      if (wanted == 0) return;
      throw error("feature {} is missing", name);
    }
    size_t have = std::visit([](const auto& values) { return values.size(); }, found->second);
    require_length(name, have, wanted,
                   field.axis == Axis::slot     ? "one a token"
                   : field.axis == Axis::target ? "one a target"
                                                : "one an example");
    column(name).set(first, found->second);
  }

  Example notes_of(const Example& example) const {
    Example notes;
    for (const auto& [name, values] : example) {
      if (name != kInputIds && name != kSegmentIds && name != kTargetPositions && name != kRow &&
          !schema_.contains(name)) {
        notes.emplace(name, values);
      }
    }
    return notes;
  }

  Capacity capacity_;
  const Schema& schema_;
  const PackOptions& options_;
  Batch batch_;
  Named<Column> columns_;
  int64_t targets_ = 0;
};

class Batches final : public Stream<std::vector<Batch>> {
 public:
  Batches(ExampleStream from, Schema schema, int64_t batch_size, PackOptions options)
      : from_(std::move(from)),
        schema_(std::move(schema)),
        batch_size_(batch_size),
        options_(std::move(options)) {}

  std::optional<std::vector<Batch>> next() override {
    std::vector<Example> examples;
    while (static_cast<int64_t>(examples.size()) < batch_size_) {
      auto example = from_->next();
      if (!example) break;
      examples.push_back(std::move(*example));
    }
    if (examples.empty()) return std::nullopt;
    auto first_row = static_cast<int64_t>(row_);
    row_ += examples.size();
    return pack(examples, schema_, options_, first_row);
  }

  uint64_t skip(uint64_t count) override {
    auto size = static_cast<uint64_t>(batch_size_);
    uint64_t skipped = from_->skip(count * size);
    row_ += skipped;
    return (skipped + size - 1) / size;
  }

 private:
  ExampleStream from_;
  Schema schema_;
  int64_t batch_size_;
  PackOptions options_;
  uint64_t row_ = 0;
};

}  // namespace

std::vector<Batch> pack(std::span<const Example> examples, const Schema& schema,
                        const PackOptions& options, int64_t first_row) {
  check(!options.capacities.empty(), "packing needs a capacity");
  std::vector<ExampleSize> sizes;
  auto row_of = [&](size_t i) {
    if (!examples[i].contains(kRow)) return first_row + static_cast<int64_t>(i);
    const std::vector<int64_t>& row = integers(examples[i], kRow);
    require_length(kRow, row.size(), 1, "one an example");
    return row.front();
  };
  auto at_row = [&](size_t i, const auto& act) {
    try {
      act();
    } catch (const Error& e) {
      throw e.within(fmt::format("row {} of the data (counted from 0)", row_of(i)));
    }
  };
  const Capacity& largest = options.capacities.back();
  for (size_t i = 0; i < examples.size(); ++i) {
    at_row(i, [&] {
      ExampleSize size = size_of_example(examples[i], options.padded_length);
      if (!fits(size, largest)) {
        throw error(
            "{} tokens and {} targets do not fit a micro-batch, which holds {} and {} at most: "
            "lower --max_seq_length or raise --memory",
            size.slots, size.targets, largest.slots, largest.targets);
      }
      sizes.push_back(size);
    });
  }
  std::vector<Batch> batches;
  for (const MicroBatch& placement : place(sizes, options.capacities, options.replicas)) {
    Filling filling(placement.capacity, schema, options);
    for (size_t m = 0; m < placement.members.size(); ++m) {
      size_t i = placement.members[m];
      auto number = options.first_number + static_cast<uint32_t>(i) * options.number_step;
      at_row(i, [&] { filling.add(examples[i], placement.first_slot[m], number, row_of(i)); });
    }
    batches.push_back(filling.finish());
  }
  return batches;
}

BatchStream batches(ExampleStream from, Schema schema, int64_t batch_size, PackOptions options) {
  if (batch_size < 1) throw usage_error("a batch holds at least 1 example, not {}", batch_size);
  return std::make_unique<Batches>(std::move(from), std::move(schema), batch_size,
                                   std::move(options));
}

std::vector<ExampleSize> sample_sizes(Stream<Example>& from, size_t count, int64_t padded_length) {
  std::vector<ExampleSize> sizes;
  while (sizes.size() < count) {
    auto example = from.next();
    if (!example) break;
    sizes.push_back(size_of_example(*example, padded_length));
  }
  return sizes;
}

void Waste::add(const Batch& batch) {
  tokens_ += batch.tokens;
  slots_ += batch.capacity.rows * batch.capacity.slots;
}

double Waste::share() const {
  return slots_ == 0 ? 0 : 1.0 - static_cast<double>(tokens_) / static_cast<double>(slots_);
}

}  // namespace bertrain
