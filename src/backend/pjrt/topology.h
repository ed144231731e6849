// Hardware that need not be there: a plugin compiles for it by its name, and nothing runs.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "backend/backend.h"
#include "backend/pjrt/executable.h"
#include "backend/pjrt/plugin.h"

namespace bertrain {

class PjrtTopology {
 public:
  // `name` as the plugin's own ("v5e:2x2"; of a GPU plugin none), `options` as it takes them (of a GPU
  // plugin `target_config`, a description, and `topology`). A usage Error where it knows no such
  // hardware, and as PjrtPlugin::open.
  static std::shared_ptr<PjrtTopology> open(const std::string& path, const std::string& name,
                                            const std::map<std::string, std::string>& options);
  ~PjrtTopology();
  PjrtTopology(const PjrtTopology&) = delete;
  PjrtTopology& operator=(const PjrtTopology&) = delete;

  int devices() const { return static_cast<int>(ids_.size()); }

  struct Compiled {
    ProgramFacts facts;
    Named<int64_t> operations;  // of the optimized program by HLO's names; empty where not told
  };
  // As PjrtClient::compile, for the first devices. What does not fit is an Error of too little
  // device memory, with the compiler's reason.
  Compiled compile(std::string_view stablehlo, const CompileFlags& flags);

 private:
  explicit PjrtTopology(std::shared_ptr<const PjrtPlugin> plugin) : plugin_(std::move(plugin)) {}
  std::shared_ptr<const PjrtPlugin> plugin_;
  AbiTopology* topology_ = nullptr;
  std::vector<int64_t> ids_;
};

}  // namespace bertrain
