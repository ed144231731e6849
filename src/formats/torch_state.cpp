// PyTorch's state dicts in a pickle: calls of torch._utils._rebuild_tensor_v2 on storages kept outside of it.
#include "formats/torch_state.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/quote.h"

namespace bertrain {
namespace {

constexpr size_t kMostAxes = 64;  // PyTorch's own limit
// Values may be shared, so a few bytes can stand for a large dict many times over: what is walked
// through and made of it is bounded by itself.
constexpr size_t kMostTensors = size_t{1} << 18, kMostWalked = size_t{1} << 24;
constexpr size_t kMostKey = 1000;  // bytes of a storage's
constexpr std::string_view kOrderedDict = "collections.OrderedDict", kSize = "torch.Size";
constexpr std::string_view kTensor = "torch._utils._rebuild_tensor",
                           kTensor2 = "torch._utils._rebuild_tensor_v2",
                           kTensor3 = "torch._utils._rebuild_tensor_v3",
                           kParameter = "torch._utils._rebuild_parameter",
                           kParameterWithState = "torch._utils._rebuild_parameter_with_state";
// Arguments of the rebuilding functions.
constexpr size_t kStorage = 0, kOffset = 1, kExtents = 2, kStrides = 3, kMarks2 = 6, kType3 = 6,
                 kMarks3 = 7;

// Storages have a class for each type; tensors of version 3 name the type itself.
struct TypeName {
  std::string_view storage, name;
  std::optional<DType> dtype;  // none: not read
  uint64_t bytes;
};
constexpr TypeName kTypes[] = {{"FloatStorage", "float32", DType::f32, 4},
                               {"BFloat16Storage", "bfloat16", DType::bf16, 2},
                               {"HalfStorage", "float16", DType::f16, 2},
                               {"IntStorage", "int32", DType::i32, 4},
                               {"LongStorage", "int64", DType::i64, 8},
                               {"ByteStorage", "uint8", DType::u8, 1},
                               {"BoolStorage", "bool", DType::boolean, 1},
                               {"", "uint32", DType::u32, 4},
                               {"", "uint16", std::nullopt, 2},
                               {"", "uint64", std::nullopt, 8},
                               {"DoubleStorage", "float64", std::nullopt, 8},
                               {"CharStorage", "int8", std::nullopt, 1},
                               {"ShortStorage", "int16", std::nullopt, 2},
                               {"ComplexFloatStorage", "complex64", std::nullopt, 8},
                               {"ComplexDoubleStorage", "complex128", std::nullopt, 16},
                               {"UntypedStorage", "", DType::u8, 1}};

// "torch.FloatStorage", "torch.cuda.FloatStorage" (of files from a GPU), "torch.storage.…"
const TypeName* storage_type(std::string_view global) {
  size_t dot = global.rfind('.');
  std::string_view module = global.substr(0, dot);
  if (module != "torch" && module != "torch.cuda" && module != "torch.storage") return nullptr;
  for (const TypeName& type : kTypes) {
    if (!type.storage.empty() && type.storage == global.substr(dot + 1)) return &type;
  }
  return nullptr;
}

const TypeName* element_type(std::string_view global) {
  if (!global.starts_with("torch.")) return nullptr;
  for (const TypeName& type : kTypes) {
    if (!type.name.empty() && type.name == global.substr(6)) return &type;
  }
  return nullptr;
}

using Items = std::vector<PickleId>;

uint64_t whole(const PickleValue& value, std::string_view what) {
  if (value.kind != PickleKind::integer || value.number < 0) {
    throw error("its {} is something else than a number from 0 on", what);
  }
  return static_cast<uint64_t>(value.number);
}

struct Described {
  const TypeName* type;
  std::string key;
  uint64_t elements;  // whose bytes are less than 2^64
};

// ("storage", class, key, device, elements), as what is kept outside of the pickle is called.
Described described_storage(const Pickle& pickle, const PickleValue& value) {
  if (value.kind != PickleKind::persistent) throw error("it has no storage");
  const Items& parts = pickle.at(value.items[0]).items;
  auto part = [&](size_t i) -> const PickleValue& { return pickle.at(parts[i]); };
  if (parts.size() < 5 || part(0).text != "storage" || part(1).kind != PickleKind::global ||
      part(2).kind != PickleKind::text) {
    throw error("its storage is not described as one");
  }
  if (parts.size() > 5 && part(5).kind != PickleKind::none) {
    throw error("its storage is a part of another, as PyTorch 0.3 wrote them; save it anew");
  }
  if (part(2).text.size() > kMostKey) {
    throw error("the key of its storage has {} bytes", part(2).text.size());
  }
  const TypeName* type = storage_type(part(1).text);
  if (type == nullptr) throw error("{} is no class of storages", quote(part(1).text));
  uint64_t count = whole(part(4), "number of elements"), bytes = 0;
  if (__builtin_mul_overflow(count, type->bytes, &bytes)) {
    throw error("its storage of {} elements is too large", count);
  }
  return {type, part(2).text, count};
}

class StateDict {
 public:
  explicit StateDict(const Pickle& pickle) : pickle_(pickle) {}

  Named<TorchTensor> tensors() const {
    Named<TorchTensor> tensors;
    Items entries = entries_of(state_dict());
    for (size_t i = 0; i < entries.size(); i += 2) {
      const PickleValue* call = tensor_call(entries[i + 1]);
      if (call == nullptr) continue;
      if (tensors.size() >= kMostTensors) throw error("more than {} tensors", kMostTensors);
      const PickleValue& key = at(entries[i]);
      if (key.kind != PickleKind::text) throw error("the name of a tensor is no text");
      TorchTensor tensor;
      try {
        tensor = tensor_of(*call);
      } catch (const Error& e) {
        throw e.within(fmt::format("tensor {}", quote(key.text)));
      }
      if (!tensors.emplace(key.text, std::move(tensor)).second) {
        throw error("tensor {} is there twice", quote(key.text));
      }
    }
    return tensors;
  }

 private:
  const PickleValue& at(PickleId id) const { return pickle_.at(id); }

  bool calls(const PickleValue& value, std::string_view global) const {
    return value.kind == PickleKind::call && at(value.items[0]).text == global;
  }
  const Items& arguments(const PickleValue& call) const { return at(call.items[1]).items; }

  void walk(size_t items) const {
    walked_ += items;
    if (walked_ > kMostWalked) throw error("its dicts are more entangled than those of weights");
  }

  // Keys and values in turn; empty for what is no dict.
  Items entries_of(PickleId id) const {
    const PickleValue& value = at(id);
    if (value.kind == PickleKind::dict) {
      walk(value.items.size());
      return value.items;
    }
    if (!calls(value, kOrderedDict)) return {};
    Items entries;
    // Python 2 gives a list of pairs as the argument, later ones set items.
    if (!arguments(value).empty()) {
      walk(at(arguments(value)[0]).items.size());
      for (PickleId pair : at(arguments(value)[0]).items) {
        const Items& both = at(pair).items;
        if (both.size() != 2) throw error("an OrderedDict of something else than pairs");
        entries.insert(entries.end(), both.begin(), both.end());
      }
    }
    walk(value.items.size());
    entries.insert(entries.end(), value.items.begin() + 2, value.items.end());
    return entries;
  }

  // The call that makes a tensor; null for other values. A Parameter is made from a tensor.
  const PickleValue* tensor_call(PickleId id) const {
    const PickleValue* value = &at(id);
    if (calls(*value, kParameter) || calls(*value, kParameterWithState)) {
      if (arguments(*value).empty()) throw error("a Parameter without its tensor");
      value = &at(arguments(*value)[0]);
    }
    bool is_tensor = calls(*value, kTensor) || calls(*value, kTensor2) || calls(*value, kTensor3);
    return is_tensor ? value : nullptr;
  }

  bool has_tensors(const Items& entries) const {
    for (size_t i = 1; i < entries.size(); i += 2) {
      if (tensor_call(entries[i]) != nullptr) return true;
    }
    return false;
  }

  PickleId state_dict() const {
    Items entries = entries_of(pickle_.root);
    std::optional<PickleId> found;
    std::vector<std::string> names;
    if (has_tensors(entries)) {
      found = pickle_.root;
      names.emplace_back("the whole");
    }
    for (size_t i = 0; i < entries.size(); i += 2) {
      if (found == entries[i + 1] || !has_tensors(entries_of(entries[i + 1]))) continue;
      found = entries[i + 1];
      names.push_back(quote(at(entries[i]).text));
    }
    if (!found) {
      throw error(
          "holds no dict of tensors by name; in Python, torch.save(model.state_dict(), file) "
          "writes one");
    }
    if (names.size() > 1) {
      throw error(
          "holds several dicts of tensors ({}); in Python, save the one that is meant: "
          "torch.save(torch.load(file)[name], new_file)",
          some_of(names));
    }
    return *found;
  }

  std::vector<int64_t> wholes(PickleId id, std::string_view what) const {
    const PickleValue* value = &at(id);
    if (calls(*value, kSize) && arguments(*value).size() == 1) value = &at(arguments(*value)[0]);
    if (value->kind != PickleKind::tuple && value->kind != PickleKind::list) {
      throw error("its {} are no tuple", what);
    }
    if (value->items.size() > kMostAxes) {
      throw error("its {} are {}, at most {} expected", what, value->items.size(), kMostAxes);
    }
    std::vector<int64_t> numbers;
    for (PickleId item : value->items)
      numbers.push_back(static_cast<int64_t>(whole(at(item), what)));
    return numbers;
  }

  TorchTensor tensor_of(const PickleValue& call) const {
    const Items& given = arguments(call);
    bool third = calls(call, kTensor3);
    if (given.size() < 4 || (third && given.size() <= kType3)) {
      throw error("it is made from {} arguments, more are expected", given.size());
    }
    TorchTensor tensor;
    Described storage = described_storage(pickle_, at(given[kStorage]));
    const TypeName* type = storage.type;
    tensor.storage = storage.key;
    tensor.storage_bytes = storage.elements * type->bytes;
    if (third) type = element_type(at(given[kType3]).text);
    if (type == nullptr || !type->dtype) {
      throw error(
          "its type {} is not read (float32, bfloat16, float16, int64, int32, uint32, uint8 and "
          "bool are); in Python, tensor.float() makes it float32",
          type == nullptr ? quote(at(given[kType3]).text) : type->name);
    }
    size_t marks = third ? kMarks3 : kMarks2;  // of values that are to be negated, or conjugated
    if (given.size() > marks && !at(given[marks]).items.empty()) {
      throw error("its values are not as they are stored; tensor.resolve_neg() makes them so");
    }
    tensor.type = {*type->dtype, wholes(given[kExtents], "extents")};
    tensor.strides = wholes(given[kStrides], "strides");
    tensor.offset = whole(at(given[kOffset]), "offset");
    check_within(tensor, tensor.storage_bytes / type->bytes);
    return tensor;
  }

  // Sizes are bounded by the storage, which is bounded by the file: nothing larger is ever made.
  void check_within(const TorchTensor& tensor, uint64_t stored) const {
    const Shape& shape = tensor.type.shape;
    if (tensor.strides.size() != shape.size()) {
      throw error("{} has {} strides", to_string(tensor.type), tensor.strides.size());
    }
    auto count = static_cast<uint64_t>(elements(shape));
    uint64_t last = tensor.offset;
    bool overflow = false;
    for (size_t i = 0; count > 0 && i < shape.size(); ++i) {
      uint64_t step = 0;
      overflow |= __builtin_mul_overflow(static_cast<uint64_t>(shape[i] - 1),
                                         static_cast<uint64_t>(tensor.strides[i]), &step);
      overflow |= __builtin_add_overflow(last, step, &last);
    }
    if (overflow || (count > 0 && last >= stored)) {
      throw error("{} from element {} of a storage of {} reaches beyond it", to_string(tensor.type),
                  tensor.offset, stored);
    }
    if (count > stored) {
      throw error("{} repeats the {} elements of its storage; save tensor.contiguous() instead",
                  to_string(tensor.type), stored);
    }
  }

  const Pickle& pickle_;
  mutable size_t walked_ = 0;  // entries of dicts so far
};

}  // namespace

bool TorchTensor::is_contiguous() const {
  int64_t step = 1;
  for (size_t i = type.shape.size(); i-- > 0;) {
    if (type.shape[i] == 1) continue;
    if (strides[i] != step) return elements(type.shape) == 0;
    step *= type.shape[i];
  }
  return true;
}

uint64_t TorchTensor::spanned() const {
  if (elements(type.shape) == 0) return 0;
  uint64_t last = 0;
  for (size_t i = 0; i < strides.size(); ++i) {
    last += static_cast<uint64_t>(type.shape[i] - 1) * static_cast<uint64_t>(strides[i]);
  }
  return last + 1;
}

void check_torch_global(const std::string& name) {
  static constexpr std::array<std::string_view, 8> kKnown = {
      kOrderedDict,        kSize,         kTensor, kTensor2, kTensor3, kParameter,
      kParameterWithState, "torch.device"};
  if (std::ranges::find(kKnown, name) != kKnown.end()) return;
  if (storage_type(name) != nullptr || element_type(name) != nullptr) return;
  throw error(
      "needs {} of Python, so it is more than tensors; nothing of it was run. In Python, where "
      "you trust the file: torch.save(model.state_dict(), file), or model.save_pretrained(folder)",
      quote(name));
}

Named<TorchTensor> torch_tensors(const Pickle& pickle) { return StateDict(pickle).tensors(); }

Named<TorchStorage> torch_storages(const Pickle& pickle) {
  Named<TorchStorage> storages;
  for (const PickleValue& value : pickle.values) {
    if (value.kind != PickleKind::persistent) continue;
    Described storage = described_storage(pickle, value);
    TorchStorage facts{storage.elements, storage.type->bytes};
    if (storages.emplace(storage.key, facts).first->second != facts) {
      throw error("storage {} has two sizes", quote(storage.key));
    }
  }
  return storages;
}

}  // namespace bertrain
