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
  constexpr size_t kKept = 2;  // more would pin what was tried and given up
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
  array->placement = placement;
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
  std::vector<Array> parts(static_cast<size_t>(devices()), value);
  if (placement == Placement::split && devices() > 1) parts = split_parts(value, devices());
  for (int d = 0; d < devices(); ++d) {
    stored->buffers.push_back(client_->put(parts[static_cast<size_t>(d)], d));
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
  return join_parts(parts);
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
    check(*layers[i]->whole == *layers[0]->whole, "layers of a stack are of one type");
    waiting = waiting && layers[i]->host;
    stacked = stacked && layers[i]->stored == first && layers[i]->layer == i;
  }
  if (stacked) return first;
  std::shared_ptr<Stored> all;
  if (waiting) {
    ArrayType one = *layers[0]->whole;
    one.shape.insert(one.shape.begin(), 1);
    std::vector<Array> parts;
    for (const PjrtArray* layer : layers) parts.push_back({one, layer->host->bytes});
    all = send(join_parts(parts), Placement::replicate);
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

// The layer's number is an argument, so that one program serves all layers of a type.
std::shared_ptr<Stored> Shelf::cut(const Stored& stack, size_t layer) {
  ArrayType one = stack.type, type = stack.type;
  one.shape[0] = 1;
  type.shape.erase(type.shape.begin());
  Value x{"%stack", stack.type}, number{"%number", {DType::i32, {}}}, part{"%part", one};
  ValueList operands = {x, number};
  operands.resize(stack.type.shape.size() + 1, {"%zero", number.type});
  std::string body = fmt::format(
      "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
      "  %part = stablehlo.dynamic_slice {}, sizes = [{}] : {}\n"
      "  %layer = stablehlo.reshape %part : {}\n  return %layer : {}\n",
      names_text(operands), list_text(one.shape), signature_text(operands, one),
      signature_text({&part, 1}, type), type_text(type));
  ValueList arguments = {x, number};
  auto index = send(scalar(static_cast<int32_t>(layer)), Placement::replicate);
  return run(small_module(arguments, type, body), {&stack, index.get()}, type, stack.placement);
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
  std::unique_ptr<PjrtExecutable>& program = moves_[text];
  if (!program) program = client_->compile(text, {devices()});
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
