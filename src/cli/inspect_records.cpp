// What is in a TFRecord file: how many records, their features, and the figures of pre-training examples.
#include <algorithm>
#include <cstring>
#include <optional>
#include <ostream>

#include "base/error.h"
#include "cli/inspect.h"
#include "data/example.h"
#include "formats/crc32c.h"
#include "formats/tfrecord.h"
#include "text/vocabulary.h"

namespace bertrain {
namespace {

constexpr uint64_t kSample = 1000;  // records read without --verify
constexpr size_t kShownValues = 24;

template <class T>
struct Range {
  T least{}, most{};
  double sum = 0;
  uint64_t count = 0;
  void add(T value) {
    least = count == 0 ? value : std::min(least, value);
    most = count == 0 ? value : std::max(most, value);
    sum += static_cast<double>(value);
    ++count;
  }
  double mean() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
};

struct Feature {
  std::string kind;
  Range<size_t> length;
};

struct Summary {
  Range<size_t> bytes;
  uint64_t other = 0;  // records that are no tf.Example
  Named<Feature> features;
  Range<int64_t> tokens, masked, random_next;  // of pre-training examples

  void add(std::string_view record) {
    bytes.add(record.size());
    Example example;
    try {
      example = parse_example(record);
    } catch (const Error&) {
      ++other;
      return;
    }
    for (const auto& [name, values] : example) add_feature(name, values);
    if (example.contains("masked_lm_weights")) add_pretraining(example);
  }

  void add_feature(const std::string& name, const Values& values) {
    constexpr const char* kKinds[] = {"int64", "float", "bytes"};
    Feature& feature = features[name];
    if (feature.kind.find(kKinds[values.index()]) == std::string::npos) {
      feature.kind += (feature.kind.empty() ? "" : "/") + std::string(kKinds[values.index()]);
    }
    feature.length.add(std::visit([](const auto& v) { return v.size(); }, values));
  }

  void add_pretraining(const Example& e) {
    auto sum = [&](std::string_view name, Range<int64_t>& range) {
      auto found = e.find(name);
      if (found == e.end()) return;
      double total = 0;
      if (auto* v = std::get_if<std::vector<int64_t>>(&found->second)) {
        for (int64_t x : *v) total += static_cast<double>(x);
      } else if (auto* f = std::get_if<std::vector<float>>(&found->second)) {
        for (float x : *f) total += x;
      }
      if (total >= 0 && total < 1e15) range.add(static_cast<int64_t>(total));
    };
    sum("input_mask", tokens);
    sum("masked_lm_weights", masked);
    sum("next_sentence_labels", random_next);
  }
};

std::string spread(const Range<size_t>& range) {
  if (range.least == range.most) return fmt::format("{}", range.least);
  return fmt::format("{} to {}, mean {:.1f}", range.least, range.most, range.mean());
}

std::string text_of(const Values& values) {
  std::string text;
  auto append = [&](const auto& list) {
    for (size_t i = 0; i < std::min(list.size(), kShownValues); ++i) {
      if constexpr (std::is_same_v<std::decay_t<decltype(list[0])>, std::string>) {
        text += fmt::format(" {:?}", list[i].substr(0, 80));
      } else {
        text += fmt::format(" {}", list[i]);
      }
    }
    if (list.size() > kShownValues) text += " ...";
  };
  std::visit(append, values);
  return text;
}

void show_record(std::string_view record, uint64_t number, const Vocabulary* vocabulary,
                 std::ostream& out) {
  out << fmt::format("record {}, {} bytes\n", number, record.size());
  Example example;
  try {
    example = parse_example(record);
  } catch (const Error& e) {
    out << fmt::format("  no tf.Example: {}\n", e.what());
    return;
  }
  for (const auto& [name, values] : example) {
    out << fmt::format("  {}:{}\n", name, text_of(values));
    const auto* ids = std::get_if<std::vector<int64_t>>(&values);
    // Other features that end so number labels, windows and segments.
    if (!vocabulary || !ids || (name != "input_ids" && name != "masked_lm_ids")) continue;
    out << "   ";
    for (int64_t id : *ids) {
      if (id == 0) continue;  // padding
      bool known = id > 0 && static_cast<uint64_t>(id) < vocabulary->size();
      out << " " << (known ? vocabulary->token(static_cast<int32_t>(id)) : fmt::format("<{}>", id));
    }
    out << "\n";
  }
}

void print_summary(const Summary& s, uint64_t records, bool all, std::ostream& out) {
  out << fmt::format("records   {}{}\n", records, all ? "" : " (the first; --verify reads all)");
  out << fmt::format("bytes     {} a record\n", spread(s.bytes));
  if (s.other > 0) out << fmt::format("other     {} records are no tf.Example\n", s.other);
  for (const auto& [name, feature] : s.features) {
    out << fmt::format("feature   {}: {} [{}]", name, feature.kind, spread(feature.length));
    if (feature.length.count < records) out << fmt::format(", in {} records", feature.length.count);
    out << "\n";
  }
  if (s.masked.count == 0) return;
  out << fmt::format(
      "examples  {:.1f} tokens and {:.1f} masked on average; {:.1f} % with a random second half\n",
      s.tokens.mean(), s.masked.mean(), 100 * s.random_next.mean());
}

void describe(const std::string& path, const InspectOptions& options, std::ostream& out) {
  std::optional<Vocabulary> vocabulary;
  if (!options.vocab_file.empty()) vocabulary = Vocabulary::read(options.vocab_file, {});
  out << fmt::format("{}: TFRecord, {} bytes\n", path, storage_for(path).size(path).value_or(0));
  Summary summary;
  uint64_t records = 0;
  bool all = true;
  TfRecordReader reader(path, options.verify);
  for (std::string record; reader.next(record);) {
    if (records == kSample && !options.verify) {
      all = false;
      break;
    }
    ++records;
    summary.add(record);
    if (records <= static_cast<uint64_t>(std::max<int64_t>(options.show, 0))) {
      show_record(record, reader.number(), vocabulary ? &*vocabulary : nullptr, out);
    }
  }
  print_summary(summary, records, all, out);
  if (!options.verify) return;
  if (reader.corrupt() == 0) {
    out << "verified  every length and record matches its checksum\n";
    return;
  }
  // Read again for the place of the first damage: the error names it.
  out << fmt::format("damaged   {} stretches; --skip_corrupt passes over them\n", reader.corrupt());
  TfRecordReader strict(path);
  for (std::string record; strict.next(record);) {
  }
}

bool takes(const std::string&, std::string_view start) {
  if (start.size() < 12) return false;
  uint32_t stored;
  std::memcpy(&stored, start.data() + 8, sizeof stored);
  return mask_crc(crc32c(std::as_bytes(std::span(start.substr(0, 8))))) == stored;
}

}  // namespace

const Inspector kInspectRecords = {"TFRecord", takes, describe};

}  // namespace bertrain
