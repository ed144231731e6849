// Loops that move elements without looking at them.
#include <cstring>

#include "backend/reference/primitives.h"
#include "base/error.h"

namespace bertrain {
namespace {

// y[i] = x[first + Σ index · step] over the elements of y.
Array picked(const Array& x, const Shape& shape, const std::vector<int64_t>& steps,
             int64_t first = 0) {
  size_t size = size_of(x.type.dtype);
  return filled<std::byte>(x.type.dtype, shape, [&](std::byte* to) {
    walk(shape, steps, [&](int64_t i, int64_t offset) {
      std::memcpy(to + static_cast<size_t>(i) * size,
                  x.bytes.get() + static_cast<size_t>(first + offset) * size, size);
    });
  });
}

int64_t offset_of(const Shape& index, const std::vector<int64_t>& steps) {
  int64_t offset = 0;
  for (size_t i = 0; i < index.size(); ++i) offset += index[i] * steps[i];
  return offset;
}

int64_t product(const Shape& shape, size_t from, size_t to) {
  return elements(
      Shape(shape.begin() + static_cast<long>(from), shape.begin() + static_cast<long>(to)));
}

}  // namespace

std::vector<int64_t> steps_of(const Shape& shape) {
  std::vector<int64_t> steps(shape.size());
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    steps[i] = step;
    step *= shape[i];
  }
  return steps;
}

Array evaluate_select(const Node&, Arrays in) {
  auto condition = in[0].as<bool>();
  size_t size = size_of(in[1].type.dtype);
  return filled<std::byte>(in[1].type.dtype, in[1].type.shape, [&](std::byte* to) {
    for (size_t i = 0; i < condition.size(); ++i) {
      const Array& from = condition[i] ? in[1] : in[2];
      std::memcpy(to + i * size, from.bytes.get() + i * size, size);
    }
  });
}

Array evaluate_reshape(const Node& node, Arrays in) { return {node.outputs[0], in[0].bytes}; }

Array evaluate_transpose(const Node& node, Arrays in) {
  std::vector<int64_t> from = steps_of(in[0].type.shape), steps;
  for (int64_t axis : node.list("axes")) steps.push_back(from[static_cast<size_t>(axis)]);
  return picked(in[0], node.outputs[0].shape, steps);
}

Array evaluate_broadcast(const Node& node, Arrays in) {
  const Shape& shape = node.outputs[0].shape;
  std::vector<int64_t> from = steps_of(in[0].type.shape), steps(shape.size(), 0);
  for (size_t i = 0; i < from.size(); ++i) {
    if (in[0].type.shape[i] != 1) steps[static_cast<size_t>(node.list("axes")[i])] = from[i];
  }
  return picked(in[0], shape, steps);
}

Array evaluate_concatenate(const Node& node, Arrays in) {
  const Shape& shape = node.outputs[0].shape;
  size_t axis = static_cast<size_t>(node.integer("axis")), size = size_of(node.outputs[0].dtype);
  int64_t outer = product(shape, 0, axis);
  return filled<std::byte>(node.outputs[0].dtype, shape, [&](std::byte* to) {
    for (int64_t i = 0; i < outer; ++i) {
      for (const Array& x : in) {
        size_t run = static_cast<size_t>(product(x.type.shape, axis, shape.size())) * size;
        std::memcpy(to, x.bytes.get() + static_cast<size_t>(i) * run, run);
        to += run;
      }
    }
  });
}

Array evaluate_slice(const Node& node, Arrays in) {
  std::vector<int64_t> steps = steps_of(in[0].type.shape);
  return picked(in[0], node.outputs[0].shape, steps, offset_of(node.list("start"), steps));
}

Array evaluate_pad(const Node& node, Arrays in) {
  const Array& x = in[0];
  size_t size = size_of(x.type.dtype);
  std::vector<int64_t> steps = steps_of(node.outputs[0].shape);
  int64_t first = offset_of(node.list("low"), steps);
  return filled<std::byte>(x.type.dtype, node.outputs[0].shape, [&](std::byte* to) {
    walk(x.type.shape, steps, [&](int64_t i, int64_t offset) {
      std::memcpy(to + static_cast<size_t>(first + offset) * size,
                  x.bytes.get() + static_cast<size_t>(i) * size, size);
    });
  });
}

Array evaluate_gather_rows(const Node& node, Arrays in) {
  const Shape& table = in[0].type.shape;
  size_t run = static_cast<size_t>(product(table, 1, table.size())) * size_of(in[0].type.dtype);
  return filled<std::byte>(in[0].type.dtype, node.outputs[0].shape, [&](std::byte* to) {
    for (int32_t id : in[1].as<int32_t>()) {
      if (id < 0 || id >= table[0]) throw error("id {} is outside 0 … {}", id, table[0] - 1);
      std::memcpy(to, in[0].bytes.get() + static_cast<size_t>(id) * run, run);
      to += run;
    }
  });
}

}  // namespace bertrain
