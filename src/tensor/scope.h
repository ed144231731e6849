// Where in the model, and so in the checkpoint, a piece of it is recorded: names, parameters,
// dropout keys.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/graph.h"

namespace bertrain {

struct Init {
  enum Kind { zeros, ones, truncated_normal } kind = zeros;
  double stddev = 0;
};

struct Parameter {
  std::string name;  // "bert/encoder/layer_0/attention/self/query/kernel"
  Shape shape;
  Init init;
  Tensor master;   // the f32 graph input of that name
  Turn turn = {};  // of the repeat that declared it, if any
};

// A use of dropout: a graph input of u32 [2] that the host fills at each step by dropout_key_value.
struct DropoutKey {
  std::string input;  // "dropout_key/bert/encoder/layer_0/output/0"
  std::string path;
  uint32_t call;  // number of the call under that path
};
// The two words for that use: threefry(key_of(seed, path, call), {step low, step high}).
Array dropout_key_value(const DropoutKey& key, uint64_t seed, uint64_t step);

class Scope;

// One program while it is being recorded, and what the host must supply to it.
class Recording {
 public:
  struct Options {
    bool training = false;
    DType compute = DType::f32;  // parameters are converted to it where they are used
  };
  explicit Recording(Options options);
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  Scope scope();  // the root
  Graph& graph() { return graph_; }
  const Options& options() const { return options_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }  // in order of first use
  const std::vector<DropoutKey>& dropout_keys() const { return keys_; }
  // a value that the step may ask for ("word_embedding_rows")
  void mark(std::string name, Tensor value);
  Tensor marked(std::string_view name) const;  // absent Tensor if nothing has that name

 private:
  friend class Scope;
  Options options_;
  Graph graph_;
  std::vector<Parameter> parameters_;
  Tensors computed_;  // each parameter in the compute type
  std::vector<DropoutKey> keys_;
  Named<Tensor> marked_;
  Named<size_t> parameter_index_;
  Named<uint32_t> calls_;
};

class Scope {
 public:
  Scope operator/(std::string_view child) const;
  // Declared at first use, the same Tensor after (asking twice with another shape is an Error); in
  // the compute type.
  Tensor param(std::string_view name, Shape shape, Init init) const;
  Tensor dropout_key() const;  // u32 [2], fresh at each call; absent when not training
  bool training() const;
  const std::string& path() const { return path_; }
  Recording& recording() const { return *recording_; }
  Graph& graph() const { return recording_->graph(); }
  // Nodes recorded while the returned guard lives carry this scope's path.
  class Guard {
   public:
    Guard(Graph& graph, std::string path);
    ~Guard();
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    Graph& graph_;
    std::string before_;
  };
  Guard enter() const { return Guard(graph(), path_); }

 private:
  friend class Recording;
  Scope(Recording* recording, std::string path) : recording_(recording), path_(std::move(path)) {}
  Recording* recording_;
  std::string path_;
};

// The first values of a parameter: bits depend on seed and name alone.
Array initial_value(const Parameter& parameter, uint64_t seed);

// x after `count` layers recorded under scope/layer_0, layer_1, … With recompute, the backward pass
// keeps only the inputs of each layer and records its body again, with the same dropout keys,
// behind a barrier.
Tensor repeat(const Scope& scope, int count, Tensor x,
              const std::function<Tensor(const Scope&, Tensor)>& layer, bool recompute);

}  // namespace bertrain
