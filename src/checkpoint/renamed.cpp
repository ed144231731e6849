// A reader that gives another reader's tensors under new names.
#include "checkpoint/renamed.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace bertrain {
namespace {

class RenamedReader : public CheckpointReader {
 public:
  RenamedReader(std::unique_ptr<CheckpointReader> from, const Rename& rename,
                const Transposes& transposes)
      : from_(std::move(from)) {
    for (const auto& [old_name, type] : from_->tensors()) {
      std::string name = rename(old_name);
      if (name.empty()) {
        left_out_.push_back(old_name);
        continue;
      }
      Source source{old_name, name != old_name && transposes(name)};
      ArrayType seen = type;
      if (source.transposed) {
        if (type.shape.size() != 2) {
          throw error("{}: tensor '{}' is {}; a matrix is expected", uri(), old_name,
                      to_string(type));
        }
        std::swap(seen.shape[0], seen.shape[1]);
      }
      auto [place, is_new] = sources_.emplace(name, source);
      if (!is_new) {
        throw error("{}: tensors '{}' and '{}' both mean {}", uri(), place->second.name, old_name,
                    name);
      }
      types_[name] = seen;
    }
  }

  const Named<ArrayType>& tensors() const override { return types_; }
  const std::string& uri() const override { return from_->uri(); }
  std::vector<std::string> left_out() const override { return left_out_; }

  Array read(std::string_view name) const override {
    auto source = sources_.find(name);
    if (source == sources_.end()) throw error("{}: no tensor '{}'", uri(), name);
    Array array = from_->read(source->second.name);
    return source->second.transposed ? transposed(array) : array;
  }

 private:
  struct Source {
    std::string name;
    bool transposed;
  };
  std::unique_ptr<CheckpointReader> from_;
  Named<ArrayType> types_;
  Named<Source> sources_;
  std::vector<std::string> left_out_;
};

// In tiles, so that both sides stay in the cache. Bytes is the size of an element.
template <size_t Bytes>
void transpose(const std::byte* from, std::byte* to, int64_t rows, int64_t columns) {
  constexpr int64_t kTile = 32;
  for (int64_t r0 = 0; r0 < rows; r0 += kTile) {
    for (int64_t c0 = 0; c0 < columns; c0 += kTile) {
      for (int64_t r = r0; r < std::min(rows, r0 + kTile); ++r) {
        for (int64_t c = c0; c < std::min(columns, c0 + kTile); ++c) {
          std::memcpy(to + (c * rows + r) * Bytes, from + (r * columns + c) * Bytes, Bytes);
        }
      }
    }
  }
}

}  // namespace

Array transposed(const Array& matrix) {
  check(matrix.type.shape.size() == 2, "only matrices are transposed");
  int64_t rows = matrix.type.shape[0], columns = matrix.type.shape[1];
  return make_array({matrix.type.dtype, {columns, rows}}, [&](std::span<std::byte> into) {
    const std::byte* from = matrix.bytes.get();
    switch (size_of(matrix.type.dtype)) {
      case 1:
        return transpose<1>(from, into.data(), rows, columns);
      case 2:
        return transpose<2>(from, into.data(), rows, columns);
      case 4:
        return transpose<4>(from, into.data(), rows, columns);
      default:
        return transpose<8>(from, into.data(), rows, columns);
    }
  });
}

std::unique_ptr<CheckpointReader> rename_tensors(std::unique_ptr<CheckpointReader> from,
                                                 const Rename& rename,
                                                 const Transposes& transposes) {
  return std::make_unique<RenamedReader>(std::move(from), rename, transposes);
}

}  // namespace bertrain
