// tf.Example (tensorflow/core/example/example.proto) to and from bytes.
#include "data/example.h"

#include <optional>

#include "base/error.h"
#include "base/quote.h"
#include "formats/wire.h"

namespace bertrain {
namespace {

// Field numbers: Example.features, Features.feature (a map), its entries, Feature's kinds, and each
// list's values.
constexpr uint32_t kFeatures = 1, kFeature = 1, kKey = 1, kValue = 2;
constexpr uint32_t kBytesList = 1, kFloatList = 2, kInt64List = 3, kListValue = 1;

const char* kind_of(const Values& values) {
  constexpr const char* kNames[] = {"int64", "float", "bytes"};
  return kNames[values.index()];
}

template <class T>
std::vector<T>& as_kind(std::optional<Values>& values) {
  if (!values || !std::holds_alternative<std::vector<T>>(*values)) values = std::vector<T>();
  return std::get<std::vector<T>>(*values);
}

std::optional<Values> parse_feature(std::string_view bytes) {
  std::optional<Values> values;
  WireReader feature(bytes);
  while (feature.next()) {
    if (feature.field() > kInt64List) continue;
    WireReader list(feature.bytes());
    // The kind is set even by an empty list.
    if (feature.field() == kBytesList) as_kind<std::string>(values);
    if (feature.field() == kFloatList) as_kind<float>(values);
    if (feature.field() == kInt64List) as_kind<int64_t>(values);
    while (list.next()) {
      if (list.field() != kListValue) continue;
      if (feature.field() == kBytesList) as_kind<std::string>(values).emplace_back(list.text());
      if (feature.field() == kFloatList) list.append_floats(as_kind<float>(values));
      if (feature.field() == kInt64List) list.append_varints(as_kind<int64_t>(values));
    }
  }
  return values;
}

void parse_entry(std::string_view bytes, Example& example) {
  std::string_view name, value;
  WireReader entry(bytes);
  while (entry.next()) {
    if (entry.field() == kKey) name = entry.text();
    if (entry.field() == kValue) value = entry.text();
  }
  try {
    std::optional<Values> values = parse_feature(value);
    if (values) example.insert_or_assign(std::string(name), std::move(*values));
  } catch (const Error& e) {
    throw e.within(fmt::format("feature {}", quote(name)));
  }
}

std::string serialize_feature(const Values& values) {
  WireWriter list, feature;
  if (const auto* numbers = std::get_if<std::vector<int64_t>>(&values)) {
    if (!numbers->empty()) list.packed_varints(kListValue, *numbers);
    feature.bytes(kInt64List, list.message());
  } else if (const auto* reals = std::get_if<std::vector<float>>(&values)) {
    if (!reals->empty()) list.packed_floats(kListValue, *reals);
    feature.bytes(kFloatList, list.message());
  } else {
    for (const std::string& s : std::get<std::vector<std::string>>(values))
      list.bytes(kListValue, s);
    feature.bytes(kBytesList, list.message());
  }
  return feature.message();
}

template <class T>
const std::vector<T>& feature_of(const Example& example, std::string_view name, const char* kind) {
  auto found = example.find(name);
  if (found == example.end()) {
    std::vector<std::string> names;
    for (const auto& [other, values] : example) names.push_back(other);
    throw error("feature {} is missing; there are: {}", quote(name),
                names.empty() ? "none" : quote_list(names));
  }
  const auto* values = std::get_if<std::vector<T>>(&found->second);
  if (!values) {
    throw error("feature {} is of kind {}, expected {}", quote(name), kind_of(found->second), kind);
  }
  return *values;
}

}  // namespace

Example parse_example(std::string_view bytes) {
  Example example;
  WireReader message(bytes);
  while (message.next()) {
    if (message.field() != kFeatures) continue;
    WireReader features(message.bytes());
    while (features.next()) {
      if (features.field() == kFeature) parse_entry(features.text(), example);
    }
  }
  return example;
}

std::string serialize_example(const Example& example) {
  WireWriter features;
  for (const auto& [name, values] : example) {
    WireWriter entry;
    entry.bytes(kKey, name);
    entry.bytes(kValue, serialize_feature(values));
    features.bytes(kFeature, entry.message());
  }
  WireWriter message;
  message.bytes(kFeatures, features.message());
  return message.message();
}

const std::vector<int64_t>& integers(const Example& example, std::string_view name) {
  return feature_of<int64_t>(example, name, "int64");
}

const std::vector<float>& floats(const Example& example, std::string_view name) {
  return feature_of<float>(example, name, "float");
}

const std::vector<std::string>& strings(const Example& example, std::string_view name) {
  return feature_of<std::string>(example, name, "bytes");
}

}  // namespace bertrain
