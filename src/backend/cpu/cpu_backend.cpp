// The native backend: composites whole where there is a kernel, everything else by plain loops.
#include <algorithm>
#include <cstring>

#include "backend/cpu/fuse.h"
#include "backend/cpu/program.h"
#include "base/error.h"
#include "base/machine.h"

namespace bertrain {
namespace {

class CpuBackend : public Backend {
 public:
  explicit CpuBackend(const BackendOptions& options)
      : threads_(options.threads > 0 ? options.threads : usable_threads()),
        communicator_(options.communicator),
        between_calls_(options.between_calls) {
    if (communicator_ != nullptr && communicator_->size() == 1) communicator_ = nullptr;
  }

  int replicas() const override { return 1; }
  int64_t row_slots(int64_t) const override { return 0; }  // one long row of whole examples
  bool takes(const Node& node) const override { return !node.op->expand || find_lowering(node); }

  std::unique_ptr<Program> compile(const Graph& graph) override {
    return std::make_unique<CpuProgram>(
        fuse(expand(graph, [this](const Node& node) { return takes(node); })),
        RunContext{threads_, communicator_, between_calls_, arena_});
  }

  std::shared_ptr<DeviceArray> put(const Array& value, Placement) override {
    auto array = std::make_shared<CpuArray>(value.type);
    if (array->byte_size() > 0) std::memcpy(array->data(), value.bytes.get(), array->byte_size());
    return array;
  }

  Array get(const DeviceArray& value) override {
    CpuArray& array = cpu_array(value);
    return make_array(array.type(), [&](std::span<std::byte> into) {
      if (!into.empty()) std::memcpy(into.data(), array.data(), into.size());
    });
  }

 private:
  int threads_;
  Communicator* communicator_;
  std::function<void()> between_calls_;
  std::shared_ptr<HugeBuffer> arena_ = std::make_shared<HugeBuffer>();
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(const BackendOptions& options) {
  return std::make_unique<CpuBackend>(options);
}

}  // namespace bertrain
