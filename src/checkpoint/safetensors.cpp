// Safetensors: the reader, which trusts nothing in the header, and the writer.
#include "checkpoint/safetensors.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "checkpoint/object_bytes.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

constexpr uint64_t kLengthBytes = 8;          // u64, little endian: bytes of the header
constexpr uint64_t kMaxHeader = 100'000'000;  // the limit of the format's own library
constexpr size_t kDataAlignment = 8;

struct TypeName {
  DType dtype;
  std::string_view name;
};
constexpr TypeName kTypes[] = {{DType::f32, "F32"}, {DType::bf16, "BF16"},   {DType::f16, "F16"},
                               {DType::i32, "I32"}, {DType::i64, "I64"},     {DType::u32, "U32"},
                               {DType::u8, "U8"},   {DType::boolean, "BOOL"}};

std::string_view type_name(DType dtype) {
  for (const TypeName& t : kTypes) {
    if (t.dtype == dtype) return t.name;
  }
  throw std::logic_error("dtype without a safetensors name");
}

std::optional<DType> type_of(std::string_view name) {
  for (const TypeName& t : kTypes) {
    if (t.name == name) return t.dtype;
  }
  return std::nullopt;
}

uint64_t little_endian(const std::byte* bytes) {
  uint64_t value = 0;
  for (int i = 7; i >= 0; --i) value = value << 8 | static_cast<uint64_t>(bytes[i]);
  return value;
}

// Names sorted in a tree: a header of a million names must not cost a million linear searches, as
// the order-keeping Json would.
using Header = nlohmann::json;

struct Placed {
  ArrayType type;
  uint64_t begin = 0, end = 0;  // within the data
};

class SafetensorsReader : public CheckpointReader {
 public:
  explicit SafetensorsReader(std::string_view uri) : bytes_(uri) {
    Header header = read_header();
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__") continue;
      Placed placed = parse(name, entry);
      types_[name] = placed.type;
      placed_[name] = std::move(placed);
    }
    check_coverage();
  }

  const Named<ArrayType>& tensors() const override { return types_; }
  const std::string& uri() const override { return bytes_.uri(); }

  Array read(std::string_view name) const override {
    auto found = placed_.find(name);
    if (found == placed_.end()) throw error("{}: no tensor '{}'", uri(), name);
    const Placed& p = found->second;
    Array array{p.type, bytes_.slice(data_ + p.begin, p.end - p.begin, size_of(p.type.dtype))};
    if (p.type.dtype == DType::boolean) {
      for (std::byte b : array.raw()) {
        if (b > std::byte{1})
          throw error("{}: tensor '{}': a BOOL is neither 0 nor 1", uri(), name);
      }
    }
    return array;
  }

 private:
  Header read_header() {
    auto length_bytes = bytes_.slice(0, kLengthBytes, 1);
    uint64_t length = little_endian(length_bytes.get());
    if (length > kMaxHeader) {
      throw error("{}: not a safetensors file: its header would have {} bytes", uri(), length);
    }
    auto text = bytes_.slice(kLengthBytes, length, 1);
    data_ = kLengthBytes + length;
    const char* start = reinterpret_cast<const char*>(text.get());
    // Without exceptions: the parser's own messages quote any amount of the input.
    Header header = Header::parse(start, start + length, nullptr, false);
    if (!header.is_object()) {
      throw error("{}: not a safetensors file: its header is not a JSON object", uri());
    }
    return header;
  }

  Placed parse(const std::string& name, const Header& entry) const {
    auto bad = [&](std::string_view what) {
      return error("{}: tensor '{}': {}", uri(), name, what);
    };
    auto field = [&](const char* key) -> const Header& {
      if (!entry.is_object() || !entry.contains(key)) {
        throw bad(fmt::format("no \"{}\" in the header", key));
      }
      return entry[key];
    };
    const Header& dtype = field("dtype");
    const Header& shape = field("shape");
    const Header& offsets = field("data_offsets");
    std::optional<DType> type =
        dtype.is_string() ? type_of(dtype.get_ref<const std::string&>()) : std::nullopt;
    if (!type) {
      throw bad(fmt::format("dtype {} is not read (F32, BF16, F16, I32, I64, U32, U8 and BOOL are)",
                            dtype.is_string() ? dtype.get<std::string>() : "that is no string"));
    }
    Placed placed{{*type, {}}, 0, 0};
    if (!shape.is_array()) throw bad("its shape is not a list");
    for (const Header& extent : shape) {
      if (!extent.is_number_unsigned() || extent.get<uint64_t>() > INT64_MAX) {
        throw bad("its shape holds something else than sizes");
      }
      placed.type.shape.push_back(static_cast<int64_t>(extent.get<uint64_t>()));
    }
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned()) {
      throw bad("its data_offsets are not two numbers");
    }
    placed.begin = offsets[0].get<uint64_t>();
    placed.end = offsets[1].get<uint64_t>();
    uint64_t wanted = 0;
    try {
      int64_t count = elements(placed.type.shape);
      if (__builtin_mul_overflow(static_cast<uint64_t>(count), size_of(*type), &wanted)) {
        throw error("shape {} is too large", to_string(placed.type.shape));
      }
    } catch (const Error& e) {
      throw bad(e.what());
    }
    if (placed.begin > placed.end || placed.end - placed.begin != wanted) {
      throw bad(fmt::format("{} takes {} bytes, but its data_offsets are {} and {}",
                            to_string(placed.type), wanted, placed.begin, placed.end));
    }
    return placed;
  }

  // The tensors must follow each other without gap or overlap, from the header to the end of file.
  void check_coverage() const {
    std::vector<std::pair<const Placed*, const std::string*>> order;
    for (const auto& [name, placed] : placed_) order.emplace_back(&placed, &name);
    std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return std::pair(a.first->begin, a.first->end) < std::pair(b.first->begin, b.first->end);
    });
    uint64_t position = 0;
    for (const auto& [placed, name] : order) {
      if (placed->begin != position) {
        throw error("{}: tensor '{}' starts at byte {} of the data, expected {}", uri(), *name,
                    placed->begin, position);
      }
      position = placed->end;
    }
    uint64_t expected = 0;
    if (__builtin_add_overflow(data_, position, &expected) || expected > bytes_.size()) {
      throw error("{}: truncated: expected {} bytes, found {}; fetch the file again", uri(),
                  expected, bytes_.size());
    }
    if (expected < bytes_.size()) {
      throw error("{}: {} bytes follow the last tensor; the file is not what its header says",
                  uri(), bytes_.size() - expected);
    }
  }

  ObjectBytes bytes_;
  uint64_t data_ = 0;  // where the values start
  Named<ArrayType> types_;
  Named<Placed> placed_;
};

// Names in the order of the file.
std::vector<std::string> file_order(const Named<ArrayType>& types) {
  std::vector<std::string> order;
  for (const auto& [name, type] : types) order.push_back(name);
  std::stable_sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
    return size_of(types.find(a)->second.dtype) > size_of(types.find(b)->second.dtype);
  });
  return order;
}

std::string header_of(const Named<ArrayType>& types, const std::vector<std::string>& order) {
  Header header = {{"__metadata__", {{"format", "pt"}}}};
  uint64_t position = 0;
  for (const std::string& name : order) {
    const ArrayType& type = types.find(name)->second;
    uint64_t end = position + static_cast<uint64_t>(elements(type.shape)) * size_of(type.dtype);
    header[name] = {
        {"dtype", type_name(type.dtype)}, {"shape", type.shape}, {"data_offsets", {position, end}}};
    position = end;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const Header::type_error&) {
    throw error("the name of a tensor is not UTF-8, which a safetensors file cannot hold");
  }
  text.append((kDataAlignment - text.size() % kDataAlignment) % kDataAlignment, ' ');
  return text;
}

class SafetensorsWriter : public CheckpointWriter {
 public:
  SafetensorsWriter(std::string_view uri, const Named<ArrayType>& declared)
      : uri_(uri), declared_(declared) {
    if (!declared_.empty()) begin(declared_);
  }

  void write(std::string_view name, const Array& value) override {
    check(name != "__metadata__", "a tensor cannot be called __metadata__");
    check(!types_.contains(name), fmt::format("tensor '{}' is written twice", name));
    types_.emplace(name, value.type);
    held_.emplace(name, value);
    if (file_) release();
  }

  void settle() override {
    if (declared_.empty() && !settled_) {
      begin(types_);
      release();
    } else {
      check(declared_.empty() || types_ == declared_,
            "the tensors written are not the ones declared");
    }
    settled_ = true;
    file_->settle();
  }

  void commit() override {
    if (!settled_) settle();
    file_->commit();
  }

 private:
  void begin(const Named<ArrayType>& types) {
    refuse_pipe(uri_);
    file_ = storage_for(uri_).create(uri_, Exists::replace);
    order_ = file_order(types);
    std::string header = header_of(types, order_);
    std::byte length[kLengthBytes];
    for (uint64_t i = 0; i < kLengthBytes; ++i) length[i] = std::byte(header.size() >> (8 * i));
    file_->append(length);
    file_->append(std::as_bytes(std::span(header)));
  }

  // Writes out all that is held and whose turn has come.
  void release() {
    for (; next_ < order_.size(); ++next_) {
      auto found = held_.find(order_[next_]);
      if (found == held_.end()) return;
      check(declared_.empty() || declared_.find(order_[next_])->second == found->second.type,
            fmt::format("tensor '{}' is not of the type declared", order_[next_]));
      file_->append(found->second.raw());
      held_.erase(found);
    }
  }

  std::string uri_;
  Named<ArrayType> declared_, types_;
  Named<Array> held_;  // written, but not yet in the file
  std::vector<std::string> order_;
  size_t next_ = 0;  // the first name of order_ that is not in the file
  bool settled_ = false;
  std::unique_ptr<Writer> file_;
};

}  // namespace

std::unique_ptr<CheckpointReader> open_safetensors(std::string_view uri) {
  return std::make_unique<SafetensorsReader>(uri);
}

std::unique_ptr<CheckpointWriter> create_safetensors(std::string_view uri,
                                                     const Named<ArrayType>& declared) {
  return std::make_unique<SafetensorsWriter>(uri, declared);
}

bool looks_like_safetensors(std::string_view start, uint64_t size) {
  if (start.size() <= kLengthBytes || start[kLengthBytes] != '{') return false;
  uint64_t length = little_endian(reinterpret_cast<const std::byte*>(start.data()));
  return length <= std::min<uint64_t>(kMaxHeader, size);
}

}  // namespace bertrain
