// One example as named lists of numbers or strings: tf.Example's model, and its bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/array.h"

namespace bertrain {

using Values = std::variant<std::vector<int64_t>, std::vector<float>, std::vector<std::string>>;
using Example = Named<Values>;

// The features of a serialized tf.Example. A feature of no kind is left out; of one named twice the
// last counts. Throws an Error without a place when the bytes are no tf.Example; the caller puts
// the place in front.
Example parse_example(std::string_view bytes);

// A tf.Example with its features sorted by name and its numbers packed, so equal examples have
// equal bytes.
std::string serialize_example(const Example& example);

// The feature of that name, or an Error that says what there is instead.
const std::vector<int64_t>& integers(const Example& example, std::string_view name);
const std::vector<float>& floats(const Example& example, std::string_view name);
const std::vector<std::string>& strings(const Example& example, std::string_view name);

}  // namespace bertrain
