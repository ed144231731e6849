// PyTorch's files: which bytes are the pickle and the storages, and tensors as views of the latter.
#include "checkpoint/pytorch.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/quote.h"
#include "checkpoint/object_bytes.h"
#include "formats/pickle.h"
#include "formats/torch_state.h"
#include "formats/zip.h"

namespace bertrain {
namespace {

// Names, shapes and places of a hundred thousand tensors and more: values are not in the pickle.
constexpr uint64_t kMostPickled = uint64_t{64} << 20;
// The older format starts with the pickle of 0x1950a86a20f9469cfc6c, then that of 1001.
constexpr std::string_view kMagic = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
constexpr int64_t kOldProtocol = 1001;
constexpr uint64_t kCountBytes = 8;  // i64 in front of each storage: its elements

std::string_view text_of(const std::shared_ptr<const std::byte[]>& bytes, uint64_t size) {
  return {reinterpret_cast<const char*>(bytes.get()), size};
}

struct Storage {
  Storage(uint64_t at, uint64_t size, uint32_t crc) : offset(at), bytes(size), crc32(crc) {}
  uint64_t offset, bytes;  // in the file
  uint32_t crc32;          // 0: not known
  std::atomic<bool> verified{false};
};

class PyTorchReader : public CheckpointReader {
 public:
  explicit PyTorchReader(std::string_view uri) : bytes_(uri) {
    try {
      uint64_t start = std::min<uint64_t>(bytes_.size(), 4);
      if (looks_like_zip(text_of(bytes_.slice(0, start, 1), start))) {
        read_archive();
      } else {
        read_old();
      }
    } catch (const Error& e) {
      // The file's bytes already know its name.
      if (std::string_view(e.what()).starts_with(this->uri() + ":")) throw;
      throw e.within(this->uri());
    }
    for (const auto& [name, tensor] : tensors_) types_[name] = tensor.type;
  }

  const Named<ArrayType>& tensors() const override { return types_; }
  const std::string& uri() const override { return bytes_.uri(); }

  Array read(std::string_view name) const override {
    auto found = tensors_.find(name);
    if (found == tensors_.end()) throw error("{}: no tensor '{}'", uri(), name);
    const TorchTensor& tensor = found->second;
    Storage& storage = *storages_.find(tensor.storage)->second;
    verify(storage, name);
    size_t item = size_of(tensor.type.dtype);
    uint64_t spanned = tensor.spanned();
    auto bytes = bytes_.slice(storage.offset + (spanned > 0 ? tensor.offset * item : 0),
                              spanned * item, item);
    Array array = tensor.is_contiguous() ? Array{tensor.type, std::move(bytes)}
                                         : in_order(tensor, bytes.get());
    if (tensor.type.dtype == DType::boolean &&
        std::ranges::any_of(array.raw(), [](std::byte b) { return b > std::byte{1}; })) {
      throw error("{}: tensor '{}': a bool is neither 0 nor 1", uri(), name);
    }
    return array;
  }

 private:
  // DIR/data.pkl, DIR/data/KEY for each storage, and some words about them.
  void read_archive() {
    std::vector<ZipEntry> entries =
        read_zip_directory(bytes_.size(), [this](uint64_t offset, uint64_t bytes) {
          return std::string(text_of(bytes_.slice(offset, bytes, 1), bytes));
        });
    Named<const ZipEntry*> named;
    std::string folder;
    for (const ZipEntry& entry : entries) {
      named[entry.name] = &entry;
      size_t slash = entry.name.find('/');
      if (entry.name.substr(slash == std::string::npos ? 0 : slash) == "/data.pkl") {
        folder = entry.name.substr(0, slash + 1);
      }
    }
    if (folder.empty()) {
      throw error("a zip archive without data.pkl, so no weights of PyTorch");
    }
    if (named.contains(folder + "constants.pkl")) {
      throw error(
          "a TorchScript program, which is not read; in Python, "
          "torch.save(torch.jit.load(file).state_dict(), new_file) keeps its weights");
    }
    if (auto order = named.find(folder + "byteorder"); order != named.end()) {
      std::string text = content(*order->second, 16);
      if (text != "little") throw error("its byte order is {}; little is read", quote(text));
    }
    std::string text = content(*named.find(folder + "data.pkl")->second, kMostPickled);
    tensors_ = torch_tensors(read_pickle(text, check_torch_global));
    for (const auto& [name, tensor] : tensors_) {
      auto entry = named.find(folder + "data/" + tensor.storage);
      if (entry == named.end()) {
        throw error("tensor {}: its storage data/{} is not in the file", quote(name),
                    tensor.storage);
      }
      const ZipEntry& bytes = *entry->second;
      if (bytes.bytes != tensor.storage_bytes) {
        throw error("tensor {}: its storage data/{} has {} bytes, {} expected", quote(name),
                    tensor.storage, bytes.bytes, tensor.storage_bytes);
      }
      if (!storages_.contains(tensor.storage)) {
        storages_.emplace(tensor.storage,
                          std::make_unique<Storage>(bytes.offset, bytes.bytes, bytes.crc32));
      }
    }
  }

  std::string content(const ZipEntry& entry, uint64_t most) const {
    if (entry.bytes > most) {
      throw error("{} has {} bytes, at most {} are read", quote(entry.name), entry.bytes, most);
    }
    std::string text(text_of(bytes_.slice(entry.offset, entry.bytes, 1), entry.bytes));
    if (entry.crc32 != 0 && zip_crc32(text) != entry.crc32) {
      throw error("{}: its checksum does not hold: the file is damaged; fetch it again",
                  quote(entry.name));
    }
    return text;
  }

  // Pickles of the magic number, the protocol, the machine, the state dict and the storages' keys;
  // then each storage: the number of its elements, and those.
  void read_old() {
    uint64_t shown = std::min<uint64_t>(bytes_.size(), kMostPickled);
    auto bytes = bytes_.slice(0, shown, 1);
    std::string_view rest = text_of(bytes, shown);
    uint64_t at = 0;
    auto next = [&] {
      Pickle pickle;
      try {
        pickle = read_pickle(rest.substr(at), check_torch_global);
      } catch (const Error& e) {
        throw e.within(fmt::format("from byte {}", at));
      }
      at += pickle.bytes;
      return pickle;
    };
    if (!looks_like_pytorch(rest.substr(0, 32)) || next().top().text != kMagic) {
      throw error(
          "no file of torch.save: neither a zip archive, nor does it start with the magic "
          "number of the older format");
    }
    Pickle protocol = next();
    if (protocol.top().kind != PickleKind::integer || protocol.top().number != kOldProtocol) {
      throw error("another protocol of torch.save than {}", kOldProtocol);
    }
    check_machine(next());
    Pickle state = next();
    tensors_ = torch_tensors(state);
    Pickle keys = next();
    place_in_turn(keys, torch_storages(state), at);
    for (const auto& [name, tensor] : tensors_) {
      if (!storages_.contains(tensor.storage)) {
        throw error("tensor {}: its storage {} is not in the file", quote(name),
                    quote(tensor.storage));
      }
    }
  }

  static void check_machine(const Pickle& machine) {
    const PickleValue& facts = machine.top();
    for (size_t i = 0; i + 1 < facts.items.size(); i += 2) {
      const PickleValue& value = machine.at(facts.items[i + 1]);
      if (machine.at(facts.items[i]).text == "little_endian" && value.number != 1) {
        throw error("written on a machine of another byte order, which is not read");
      }
    }
  }

  // The storages follow each other from `at` on, in the order of the keys.
  void place_in_turn(const Pickle& keys, const Named<TorchStorage>& storages, uint64_t at) {
    for (PickleId id : keys.top().items) {
      const std::string& key = keys.at(id).text;
      auto found = storages.find(key);
      if (found == storages.end()) throw error("storage {} belongs to nothing", quote(key));
      auto count_bytes = bytes_.slice(at, kCountBytes, 1);
      uint64_t count = 0;
      for (size_t i = kCountBytes; i-- > 0;) {
        count = count << 8 | static_cast<uint64_t>(count_bytes[static_cast<ptrdiff_t>(i)]);
      }
      if (count != found->second.elements) {
        throw error("storage {} has {} elements at byte {}, {} expected", quote(key), count, at,
                    found->second.elements);
      }
      uint64_t bytes = count * found->second.element_bytes;
      at += kCountBytes;
      if (bytes > bytes_.size() - at) {
        throw error(
            "truncated: storage {} has {} bytes from byte {}, and the file {}; fetch it "
            "again",
            quote(key), bytes, at, bytes_.size());
      }
      if (!storages_.emplace(key, std::make_unique<Storage>(at, bytes, 0)).second) {
        throw error("storage {} is there twice", quote(key));
      }
      at += bytes;
    }
    if (at != bytes_.size()) {
      throw error("{} bytes follow the last storage", bytes_.size() - at);
    }
  }

  // Each storage once, before the first tensor of it is read. Several threads at once each do so.
  void verify(Storage& storage, std::string_view name) const {
    if (storage.crc32 == 0 || storage.verified) return;
    auto bytes = bytes_.slice(storage.offset, storage.bytes, 1);
    if (zip_crc32(text_of(bytes, storage.bytes)) != storage.crc32) {
      throw error(
          "{}: tensor '{}': its checksum does not hold: the file is damaged; fetch it again", uri(),
          name);
    }
    storage.verified = true;
  }

  static Array in_order(const TorchTensor& tensor, const std::byte* from) {
    const Shape& shape = tensor.type.shape;
    size_t item = size_of(tensor.type.dtype), axes = shape.size();
    return make_array(tensor.type, [&](std::span<std::byte> into) {
      std::vector<int64_t> index(axes, 0);
      uint64_t at = 0;  // unsigned: it may wrap around on its way back
      for (size_t written = 0; written < into.size(); written += item) {
        std::memcpy(into.data() + written, from + at * item, item);
        // The next index, as an odometer counts.
        for (size_t axis = axes; axis-- > 0;) {
          auto stride = static_cast<uint64_t>(tensor.strides[axis]);
          at += stride;
          if (++index[axis] < shape[axis]) break;
          at -= stride * static_cast<uint64_t>(shape[axis]);
          index[axis] = 0;
        }
      }
    });
  }

  ObjectBytes bytes_;
  Named<TorchTensor> tensors_;
  Named<ArrayType> types_;
  Named<std::unique_ptr<Storage>> storages_;  // by key
};

}  // namespace

std::unique_ptr<CheckpointReader> open_pytorch(std::string_view uri) {
  return std::make_unique<PyTorchReader>(uri);
}

bool looks_like_pytorch(std::string_view start) {
  if (looks_like_zip(start)) return true;
  // PROTO 2, LONG1 of ten bytes; later protocols may have a frame in front.
  return start.size() >= 2 && start[0] == '\x80' && start[1] >= 2 && start[1] <= 5 &&
         start.find(kMagic) < 32;
}

}  // namespace bertrain
