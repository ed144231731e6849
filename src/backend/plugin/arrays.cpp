// Sends, gets, stacks and cuts; the moves between stacks and single arrays are small programs.
#include "backend/plugin/arrays.h"

#include <algorithm>
#include <cstring>

#include "backend/stablehlo/text.h"
#include "base/error.h"

namespace bertrain {
namespace {

ArrayType part_type(const ArrayType& whole, Placement placement, int devices) {
  ArrayType part = whole;
  if (placement == Placement::replicate || devices == 1) return part;
  check(!part.shape.empty(), "a scalar cannot be split over devices");
  if (part.shape[0] % devices != 0) {
    throw error("{} cannot be split evenly over {} devices", to_string(whole), devices);
  }
  part.shape[0] /= devices;
  return part;
}

// A slice of the value's first axis, in its memory.
Array part_of(const Array& value, const ArrayType& type, int device) {
  size_t bytes = static_cast<size_t>(elements(type.shape)) * size_of(type.dtype);
  const std::byte* first = value.bytes.get() + bytes * static_cast<size_t>(device);
  return {type, std::shared_ptr<const std::byte[]>(value.bytes, first)};
}

Array concatenated(const std::vector<Array>& parts, const ArrayType& type) {
  return make_array(type, [&](std::span<std::byte> into) {
    for (const Array& part : parts) {
      if (part.byte_size() > 0) std::memcpy(into.data(), part.bytes.get(), part.byte_size());
      into = into.subspan(part.byte_size());
    }
  });
}

std::string small_module(std::span<const Value> arguments, const ArrayType& result,
                         const std::string& body) {
  std::string list;
  for (const Value& a : arguments) {
    list += fmt::format("{}{}: {}", list.empty() ? "" : ", ", a.name, type_text(a.type));
  }
  return fmt::format("module @move {{\nfunc.func public @main({}) -> {} {{\n{}}}\n}}\n", list,
                     type_text(result), body);
}

}  // namespace

void require_alive(const PjrtArray& array) {
  check(!array.dead && !(array.stored && array.stored->dead),
        "this array was replaced by a program's output and is dead");
}

PjrtArray& alive(DeviceArray& array) {
  auto* own = dynamic_cast<PjrtArray*>(&array);
  check(own != nullptr, "an array of another backend");
  require_alive(*own);
  return *own;
}

std::shared_ptr<PjrtExecutable> Shelf::compile(const std::string& text) {
  constexpr size_t kKept = 64;  // most of them move arrays, and are small
  auto known = std::find_if(compiled_.begin(), compiled_.end(),
                            [&](const auto& entry) { return entry.first == text; });
  if (known == compiled_.end()) {
    compiled_.emplace_front(text, client_->compile(text, {devices()}));
    if (compiled_.size() > kKept) compiled_.pop_back();
  } else {
    compiled_.splice(compiled_.begin(), compiled_, known);
  }
  return compiled_.front().second;
}

std::shared_ptr<DeviceArray> Shelf::put(const Array& value, Placement placement) {
  auto array = std::make_shared<PjrtArray>();
  array->whole = std::make_shared<ArrayType>(value.type);
  if (placement == Placement::split) {
    array->stored = send(value, placement);
  } else {
    array->host = value;
  }
  return array;
}

std::shared_ptr<Stored> Shelf::send(const Array& value, Placement placement) {
  auto stored = std::make_shared<Stored>();
  stored->placement = placement;
  stored->type = part_type(value.type, placement, devices());
  for (int d = 0; d < devices(); ++d) {
    bool whole = placement == Placement::replicate;
    stored->buffers.push_back(client_->put(whole ? value : part_of(value, stored->type, d), d));
  }
  return stored;
}

Array Shelf::get(const PjrtArray& array) {
  require_alive(array);
  if (array.host) return *array.host;
  std::shared_ptr<Stored> stored = array.stored;
  if (array.layer) stored = cut(*stored, *array.layer);
  if (stored->placement == Placement::replicate || devices() == 1) return stored->buffers[0]->get();
  std::vector<Array> parts;
  for (const auto& buffer : stored->buffers) parts.push_back(buffer->get());
  return concatenated(parts, *array.whole);
}

std::shared_ptr<Stored> Shelf::alone(PjrtArray& array) {
  require_alive(array);
  if (array.host) {
    array.stored = send(*array.host, Placement::replicate);
    array.host.reset();
  } else if (array.layer) {
    array.stored = cut(*array.stored, *array.layer);
    array.layer.reset();
  }
  return array.stored;
}

std::shared_ptr<Stored> Shelf::stack(const PjrtArrays& layers) {
  const std::shared_ptr<Stored>& first = layers[0]->stored;
  bool stacked = first && first->type.shape.size() == layers[0]->whole->shape.size() + 1 &&
                 first->type.shape[0] == static_cast<int64_t>(layers.size());
  bool waiting = true;
  for (size_t i = 0; i < layers.size(); ++i) {
    require_alive(*layers[i]);
    waiting = waiting && layers[i]->host;
    stacked = stacked && layers[i]->stored == first && layers[i]->layer == i;
  }
  if (stacked) return first;
  std::shared_ptr<Stored> all;
  if (waiting) {
    ArrayType type = *layers[0]->whole;
    type.shape.insert(type.shape.begin(), static_cast<int64_t>(layers.size()));
    std::vector<Array> parts;
    for (const PjrtArray* layer : layers) parts.push_back(*layer->host);
    all = send(concatenated(parts, type), Placement::replicate);
  } else {
    all = join(layers);
  }
  for (size_t i = 0; i < layers.size(); ++i) {
    layers[i]->host.reset();
    layers[i]->stored = all;
    layers[i]->layer = i;
  }
  return all;
}

std::shared_ptr<Stored> Shelf::cut(const Stored& stack, size_t layer) {
  ArrayType one = stack.type, type = stack.type;
  one.shape[0] = 1;
  type.shape.erase(type.shape.begin());
  Value x{"%stack", stack.type}, part{"%part", one};
  std::string ranges = fmt::format("{}:{}", layer, layer + 1);
  for (size_t i = 1; i < one.shape.size(); ++i) ranges += fmt::format(", 0:{}", one.shape[i]);
  std::string body = fmt::format(
      "  %part = stablehlo.slice %stack [{}] : {}\n  %layer = stablehlo.reshape %part : {}\n"
      "  return %layer : {}\n",
      ranges, signature_text({&x, 1}, one), signature_text({&part, 1}, type), type_text(type));
  return run(small_module({&x, 1}, type, body), {&stack}, type, stack.placement);
}

std::shared_ptr<Stored> Shelf::join(const PjrtArrays& layers) {
  std::vector<std::shared_ptr<Stored>> held;
  std::vector<const Stored*> inputs;
  ValueList arguments, lifted;
  std::string body;
  ArrayType one = *layers[0]->whole;
  one.shape.insert(one.shape.begin(), 1);
  for (size_t i = 0; i < layers.size(); ++i) {
    held.push_back(alone(*layers[i]));
    inputs.push_back(held.back().get());
    arguments.push_back({fmt::format("%a{}", i), *layers[i]->whole});
    lifted.push_back({fmt::format("%b{}", i), one});
    body += fmt::format("  {} = stablehlo.reshape {} : {}\n", lifted[i].name, arguments[i].name,
                        signature_text({&arguments[i], 1}, one));
  }
  ArrayType type = one;
  type.shape[0] = static_cast<int64_t>(layers.size());
  body += fmt::format("  %all = stablehlo.concatenate {}, dim = 0 : {}\n  return %all : {}\n",
                      names_text(lifted), signature_text(lifted, type), type_text(type));
  return run(small_module(arguments, type, body), inputs, type, Placement::replicate);
}

std::shared_ptr<Stored> Shelf::run(const std::string& text,
                                   const std::vector<const Stored*>& inputs, const ArrayType& type,
                                   Placement placement) {
  std::shared_ptr<PjrtExecutable> program = compile(text);
  std::vector<std::vector<PjrtBuffer*>> arguments(static_cast<size_t>(devices()));
  for (size_t d = 0; d < arguments.size(); ++d) {
    for (const Stored* input : inputs) arguments[d].push_back(input->buffers[d].get());
  }
  auto results = program->run(arguments, {type});
  auto stored = std::make_shared<Stored>();
  stored->type = type;
  stored->placement = placement;
  for (auto& of_device : results) stored->buffers.push_back(std::move(of_device[0]));
  return stored;
}

}  // namespace bertrain
