// Python pickles as plain values: what a pickle would call is written down, and never called.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace bertrain {

enum class PickleKind : uint8_t {
  none,
  boolean,  // number: 0 or 1
  integer,  // number
  real,     // the bits of a double in number, as nothing here needs it
  text,     // text
  bytes,    // text; also whole numbers beyond 64 bits, little endian
  tuple,    // items
  list,     // items
  set,      // items
  dict,     // items: key, value, key, value …
  global,   // text: "module.name" of a class or function
  call,     // items: what is called, its arguments (a tuple), then as in a dict what was set in it
  persistent,  // items: the one value that names something outside of the pickle
};

// Index of a value. Values refer to each other by it, may be shared, and may contain themselves:
// what walks over them has to bound its depth.
using PickleId = uint32_t;

struct PickleValue {
  PickleKind kind = PickleKind::none;
  int64_t number = 0;
  std::string text;
  std::vector<PickleId> items;
};

struct Pickle {
  std::vector<PickleValue> values;
  PickleId root = 0;
  uint64_t bytes = 0;  // of the pickle, up to its end mark; others may follow it

  const PickleValue& at(PickleId id) const { return values[id]; }
  const PickleValue& top() const { return values[root]; }
};

// Called with "module.name" at each global; throws Error for what has no place in the file.
using CheckGlobal = std::function<void(const std::string& name)>;

// Reads the pickle that `text` starts with, of protocols 0 to 5 as far as programs write them today:
// not the obsolete opcodes of protocol 0 and 1 (INT, INST, …), extension codes and buffers outside
// of the file. Time and memory are bounded by the length of the text, at most 4 million values. An
// Error says what and at which byte; callers put the file's name in front with Error::within.
Pickle read_pickle(std::string_view text, const CheckGlobal& check_global);

}  // namespace bertrain
