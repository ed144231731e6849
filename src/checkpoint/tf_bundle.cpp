// Tensor bundles: the reader, which checks index and data against each other, and the writer.
#include "checkpoint/tf_bundle.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "checkpoint/object_bytes.h"
#include "formats/crc32c.h"
#include "formats/object_graph.h"
#include "formats/tf_index.h"
#include "formats/wire.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

// BundleHeaderProto, under the key "".
constexpr uint32_t kHeaderShards = 1, kHeaderEndianness = 2, kHeaderVersion = 3;
constexpr uint32_t kVersionProducer = 1, kVersionMinConsumer = 2;
constexpr uint64_t kFormatVersion = 1;
// BundleEntryProto.
constexpr uint32_t kEntryType = 1, kEntryShape = 2, kEntryShard = 3, kEntryOffset = 4,
                   kEntrySize = 5, kEntryCrc = 6, kEntrySlices = 7;
constexpr uint32_t kShapeDim = 2, kShapeUnknownRank = 3, kDimSize = 1;

constexpr uint64_t kString = 7;  // of TensorFlow's DataType
struct TypeNumber {
  DType dtype;
  uint64_t number;
};
constexpr TypeNumber kTypes[] = {{DType::f32, 1},  {DType::i32, 3},      {DType::u8, 4},
                                 {DType::i64, 9},  {DType::boolean, 10}, {DType::bf16, 14},
                                 {DType::f16, 19}, {DType::u32, 22}};

std::optional<DType> type_of(uint64_t number) {
  for (const TypeNumber& t : kTypes) {
    if (t.number == number) return t.dtype;
  }
  return std::nullopt;
}

uint64_t number_of(DType dtype) {
  for (const TypeNumber& t : kTypes) {
    if (t.dtype == dtype) return t.number;
  }
  throw std::logic_error("dtype without a TensorFlow number");
}

std::string shard_name(std::string_view prefix, uint64_t shard, uint64_t shards) {
  return fmt::format("{}.data-{:05}-of-{:05}", prefix, shard, shards);
}

struct Entry {
  ArrayType type;
  uint64_t shard = 0, offset = 0, bytes = 0;
  uint32_t masked_crc = 0;
  bool is_text = false;  // strings: `type` has only their shape
};

Shape parse_shape(std::string_view message) {
  Shape shape;
  WireReader m(message);
  while (m.next()) {
    if (m.field() == kShapeUnknownRank && m.varint()) throw error("its shape is not known");
    if (m.field() != kShapeDim) continue;
    int64_t extent = 0;  // proto3 leaves out what is 0
    WireReader dim(m.bytes());
    while (dim.next()) {
      if (dim.field() == kDimSize) extent = static_cast<int64_t>(dim.varint());
    }
    shape.push_back(extent);
  }
  return shape;
}

Entry parse_entry(std::string_view message) {
  Entry entry;
  uint64_t type = 0;
  WireReader m(message);
  while (m.next()) {
    switch (m.field()) {
      case kEntryType:
        type = m.varint();
        break;
      case kEntryShape:
        entry.type.shape = parse_shape(m.text());
        break;
      case kEntryShard:
        entry.shard = m.varint();
        break;
      case kEntryOffset:
        entry.offset = m.varint();
        break;
      case kEntrySize:
        entry.bytes = m.varint();
        break;
      case kEntryCrc:
        entry.masked_crc = m.fixed32();
        break;
      case kEntrySlices:
        throw error("it is stored in slices, which is not read");
    }
  }
  if (type == kString) {
    entry.is_text = true;
    return entry;
  }
  std::optional<DType> dtype = type_of(type);
  if (!dtype) throw error("its TensorFlow type {} is not read", type);
  entry.type.dtype = *dtype;
  uint64_t wanted = 0;
  if (__builtin_mul_overflow(static_cast<uint64_t>(elements(entry.type.shape)), size_of(*dtype),
                             &wanted) ||
      wanted != entry.bytes) {
    throw error("{} does not take the {} bytes that the index says", to_string(entry.type),
                entry.bytes);
  }
  return entry;
}

uint64_t parse_header(std::string_view message) {  // the number of data files
  uint64_t shards = 0;
  WireReader m(message);
  while (m.next()) {
    if (m.field() == kHeaderShards) shards = m.varint();
    if (m.field() == kHeaderEndianness && m.varint() != 0) {
      throw error("its numbers are big-endian, which is not read");
    }
    if (m.field() != kHeaderVersion) continue;
    WireReader version(m.bytes());
    while (version.next()) {
      if (version.field() == kVersionMinConsumer && version.varint() > kFormatVersion) {
        throw error("its format is version {}, which is not read", version.varint());
      }
    }
  }
  return shards;
}

// A tensor of one string: its length as a varint, the masked checksum of the length (as 4 bytes, or 8
// from 4 GiB on), its bytes. The tensor's checksum is over length, that checksum and bytes.
std::string length_bytes(uint64_t length) {
  std::string bytes(length > UINT32_MAX ? 8 : 4, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(length >> (8 * i));
  return bytes;
}

std::span<const std::byte> raw(std::string_view text) { return std::as_bytes(std::span(text)); }

struct StringForm {
  std::string start;  // before the string's bytes
  uint32_t crc;
};

StringForm form_of(std::string_view text) {
  StringForm form;
  for (uint64_t rest = text.size();; rest >>= 7) {
    form.start += static_cast<char>(rest < 128 ? rest : (rest & 127) | 128);
    if (rest < 128) break;
  }
  uint32_t crc = crc32c(raw(length_bytes(text.size())));
  std::string masked = length_bytes(mask_crc(crc));
  form.start += masked;
  form.crc = crc32c(raw(text), crc32c(raw(masked), crc));
  return form;
}

std::string single_string(std::string_view stored, uint32_t crc) {
  uint64_t length = 0;
  size_t at = 0;
  for (int shift = 0;; shift += 7) {
    if (at == stored.size() || shift > 63) throw error("damaged: its length does not end");
    auto byte = static_cast<uint8_t>(stored[at++]);
    length |= static_cast<uint64_t>(byte & 127) << shift;
    if (byte < 128) break;
  }
  if (stored.size() - at < 4 || length != stored.size() - at - 4) {
    throw error("damaged: a string of {} bytes is said to lie in {}", length, stored.size());
  }
  std::string text(stored.substr(at + 4));
  StringForm form = form_of(text);
  if (form.crc != crc || !stored.starts_with(form.start)) {
    throw error("damaged: its checksum does not hold");
  }
  return text;
}

class TfBundleReader : public CheckpointReader {
 public:
  explicit TfBundleReader(std::string_view prefix) : prefix_(prefix), uri_(prefix_ + ".index") {
    if (!exists(uri_)) {
      auto parts = storage_for(prefix_).list(prefix_ + ".data-");
      throw parts.empty()
          ? error("{}: no such checkpoint: there is no {}", prefix_, uri_)
          : error("{}: {} is missing, though {} is there", prefix_, uri_, parts[0].uri);
    }
    read_index();
    check_sizes();
  }

  const Named<ArrayType>& tensors() const override { return types_; }
  const std::string& uri() const override { return uri_; }

  Array read(std::string_view name) const override {
    auto found = entries_.find(name);
    if (found == entries_.end() || found->second.is_text) {
      throw error("{}: no tensor '{}'", uri_, name);
    }
    const Entry& e = found->second;
    const ObjectBytes& shard = *shards_[e.shard];
    Array array{e.type, shard.slice(e.offset, e.bytes, size_of(e.type.dtype))};
    if (crc32c(array.raw()) != unmask_crc(e.masked_crc)) {
      throw error("{}: damaged: the checksum of tensor '{}' does not hold", shard.uri(), name);
    }
    if (e.type.dtype == DType::boolean) {
      for (std::byte b : array.raw()) {
        if (b > std::byte{1}) {
          throw error("{}: tensor '{}': a bool is neither 0 nor 1", shard.uri(), name);
        }
      }
    }
    return array;
  }

  std::optional<std::string> object_graph() const override {
    auto found = entries_.find(kObjectGraphKey);
    if (found == entries_.end() || !found->second.is_text) return std::nullopt;
    const Entry& e = found->second;
    const ObjectBytes& shard = *shards_[e.shard];
    auto bytes = shard.slice(e.offset, e.bytes, 1);
    try {
      return single_string({reinterpret_cast<const char*>(bytes.get()), e.bytes},
                           unmask_crc(e.masked_crc));
    } catch (const Error& error) {
      throw error.within(fmt::format("{}: {}", shard.uri(), kObjectGraphKey));
    }
  }

 private:
  void read_index() {
    ObjectBytes file(uri_);
    // The footer first: a file of gigabytes that is no index must not be read to the end.
    size_t tail = std::min<uint64_t>(file.size(), kTableFooterBytes);
    auto footer = file.slice(file.size() - tail, tail, 1);
    if (!ends_a_table({footer.get(), tail})) {
      throw error("{}: not a checkpoint index, or truncated: {} bytes found that do not end as one",
                  uri_, file.size());
    }
    auto bytes = file.slice(0, file.size(), 1);
    std::vector<IndexEntry> index = read_table({bytes.get(), file.size()}, uri_);
    if (index.empty() || !index[0].key.empty()) {
      throw error("{}: damaged: the header of the checkpoint is missing", uri_);
    }
    uint64_t shards = 0;
    try {
      shards = parse_header(index[0].value);
    } catch (const Error& e) {
      throw e.within(uri_);
    }
    for (size_t i = 1; i < index.size(); ++i) add(index[i], shards);
    open_shards(shards);
  }

  void add(const IndexEntry& item, uint64_t shards) {
    try {
      Entry entry = parse_entry(item.value);
      if (entry.shard >= shards) throw error("it lies in data file {} of {}", entry.shard, shards);
      if (!entry.is_text) types_[item.key] = entry.type;
      entries_[item.key] = entry;
    } catch (const Error& e) {
      throw e.within(fmt::format("{}: tensor '{}'", uri_, item.key));
    }
  }

  void open_shards(uint64_t shards) {
    for (uint64_t i = 0; i < shards; ++i) {
      std::string name = shard_name(prefix_, i, shards);
      if (!exists(name)) throw error("{}: {} is missing, though {} is there", prefix_, name, uri_);
      shards_.push_back(std::make_unique<ObjectBytes>(name));
    }
  }

  void check_sizes() const {
    std::vector<uint64_t> expected(shards_.size(), 0);
    for (const auto& [name, e] : entries_) {
      uint64_t end = 0;
      if (__builtin_add_overflow(e.offset, e.bytes, &end)) {
        throw error("{}: tensor '{}': an offset of {} cannot be", uri_, name, e.offset);
      }
      expected[e.shard] = std::max(expected[e.shard], end);
    }
    for (size_t i = 0; i < shards_.size(); ++i) {
      if (expected[i] > shards_[i]->size()) {
        throw error("{}: truncated: expected {} bytes, found {}; fetch the file again",
                    shards_[i]->uri(), expected[i], shards_[i]->size());
      }
    }
  }

  std::string prefix_, uri_;
  std::vector<std::unique_ptr<ObjectBytes>> shards_;
  Named<ArrayType> types_;
  Named<Entry> entries_;
};

// A pipe would be written to, and wait for a reader.
std::unique_ptr<Writer> create_file(const std::string& uri) {
  refuse_pipe(uri);
  return storage_for(uri).create(uri, Exists::replace);
}

class TfBundleWriter : public CheckpointWriter {
 public:
  explicit TfBundleWriter(std::string_view prefix)
      : prefix_(prefix), data_(create_file(shard_name(prefix, 0, 1))) {
    refuse_pipe(prefix_ + ".index");  // before the weights, which take long
    refuse_pipe(state_file());
  }

  void write(std::string_view name, const Array& value) override {
    check(!name.empty() && !entries_.contains(name),
          fmt::format("tensor '{}' is written twice, or has no name", name));
    Entry entry{value.type, 0, position_, value.byte_size(), mask_crc(crc32c(value.raw()))};
    data_->append(value.raw());
    position_ += entry.bytes;
    entries_.emplace(name, std::move(entry));
  }

  void write_object_graph(std::string_view message) override {
    StringForm form = form_of(message);
    Entry entry{{}, 0, position_, form.start.size() + message.size(), mask_crc(form.crc), true};
    data_->append(raw(form.start));
    data_->append(raw(message));
    position_ += entry.bytes;
    entries_.emplace(kObjectGraphKey, std::move(entry));
  }

  void settle() override {
    if (index_) return;
    data_->settle();
    std::vector<IndexEntry> entries{{"", header()}};
    for (const auto& [name, entry] : entries_) entries.push_back({name, message_of(entry)});
    index_ = create_file(prefix_ + ".index");
    index_->append(raw(write_table(entries)));
    index_->settle();
  }

  // The data first: TensorFlow takes a checkpoint for whole when its index is there. That of an
  // earlier one does not fit new data.
  void commit() override {
    settle();
    storage_for(prefix_).remove(prefix_ + ".index");
    data_->commit();
    index_->commit();
    update_state();
  }

 private:
  static std::string header() {
    WireWriter version, header;
    version.varint(kVersionProducer, kFormatVersion);
    header.varint(kHeaderShards, 1);
    header.bytes(kHeaderVersion, version.message());
    return header.message();
  }

  static std::string message_of(const Entry& entry) {
    WireWriter shape, message;
    for (int64_t extent : entry.type.shape) {
      WireWriter dim;
      if (extent != 0) dim.varint(kDimSize, static_cast<uint64_t>(extent));
      shape.bytes(kShapeDim, dim.message());
    }
    message.varint(kEntryType, entry.is_text ? kString : number_of(entry.type.dtype));
    message.bytes(kEntryShape, shape.message());
    if (entry.offset != 0) message.varint(kEntryOffset, entry.offset);
    if (entry.bytes != 0) message.varint(kEntrySize, entry.bytes);
    message.fixed32(kEntryCrc, entry.masked_crc);
    return message.message();
  }

  std::string state_file() const { return join_path(folder_part(prefix_), "checkpoint"); }

  void update_state() const {
    std::string state = state_file();
    std::vector<std::string> kept;
    if (exists(state)) {
      try {
        for (const std::string& p : read_tf_state(state)) {
          // The file names those of its own directory.
          bool here = folder_part(p) == folder_part(prefix_);
          if (here && p != prefix_ && exists(p + ".index")) kept.push_back(p);
        }
      } catch (const Error& e) {
        log_warning("{}; it is written anew", e.what());
      }
    }
    kept.push_back(prefix_);
    write_tf_state(folder_part(prefix_), kept);
  }

  std::string prefix_;
  std::unique_ptr<Writer> data_, index_;
  uint64_t position_ = 0;
  Named<Entry> entries_;
};

}  // namespace

std::unique_ptr<CheckpointReader> open_tf_bundle(std::string_view prefix) {
  return std::make_unique<TfBundleReader>(prefix);
}

std::unique_ptr<CheckpointWriter> create_tf_bundle(std::string_view prefix) {
  return std::make_unique<TfBundleWriter>(prefix);
}

std::string bundle_prefix(std::string_view name) {
  for (std::string_view end : {".index", ".meta"}) {
    if (name.ends_with(end)) return std::string(name.substr(0, name.size() - end.size()));
  }
  constexpr std::string_view kShape = ".data-00000-of-00000";  // 0 stands for any digit
  if (name.size() > kShape.size()) {
    std::string_view end = name.substr(name.size() - kShape.size());
    bool fits = std::equal(end.begin(), end.end(), kShape.begin(), [](char c, char want) {
      return want == '0' ? c >= '0' && c <= '9' : c == want;
    });
    if (fits) return std::string(name.substr(0, name.size() - kShape.size()));
  }
  return std::string(name);
}

}  // namespace bertrain
