// Any bytes as the object graph of a TensorFlow 2 checkpoint: parsed, written again, and walked for the names of a model whose
// tensors have shapes of all ranks.
#include "checkpoint/checkpoint.h"
#include "checkpoint/tf2_objects.h"
#include "formats/object_graph.h"
#include "fuzz_input.h"

namespace bertrain {
namespace {

// A tensor for each key of the graph, of a shape that its name decides.
class GraphReader : public CheckpointReader {
 public:
  GraphReader(const ObjectGraph& graph, std::string message) : message_(std::move(message)) {
    for (const ObjectGraph::Node& node : graph.nodes) {
      if (!node.key || node.key->ends_with("?")) continue;  // a key whose values are missing
      size_t rank = node.key->empty() ? 0 : static_cast<unsigned char>(node.key->back()) % 5;
      Shape shape;
      for (size_t i = 0; i < rank; ++i) shape.push_back(static_cast<int64_t>(1 + (rank + i) % 3));
      types_[*node.key] = {DType::f32, std::move(shape)};
    }
  }
  const Named<ArrayType>& tensors() const override { return types_; }
  const std::string& uri() const override { return uri_; }
  Array read(std::string_view name) const override {
    return make_array(types_.at(std::string(name)), [](std::span<std::byte>) {});
  }
  std::optional<std::string> object_graph() const override { return message_; }

 private:
  std::string message_, uri_ = "fuzzed";
  Named<ArrayType> types_;
};

void walk(std::string_view input) {
  ObjectGraph graph = parse_object_graph(input);
  std::string written = message_of(graph);
  check(message_of(parse_object_graph(written)) == written, "what is written is read back");
  refusing([&] { attention_heads(GraphReader(graph, std::string(input))); });
  auto named = name_objects(std::make_unique<GraphReader>(graph, std::string(input)));
  for (const auto& [name, type] : named->tensors()) {
    check(named->read(name).type == type, "a tensor is of the type that was told");
  }
}

constexpr std::string_view kPrefix = "mem://folder/fuzzed";

// As it lies in a file.
void store(std::string_view input) {
  auto writer = create_checkpoint(kPrefix, CheckpointFormat::tf_bundle);
  writer->write_object_graph(input);
  writer->commit();
  check(open_checkpoint(kPrefix)->object_graph() == input, "what is stored is read back");
}

void fuzz(std::string_view input) {
  refusing([&] { walk(input); });
  store(input);
}

}  // namespace
}  // namespace bertrain

BERTRAIN_FUZZ(bertrain::fuzz)
