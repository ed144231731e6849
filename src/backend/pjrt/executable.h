// A program compiled for the devices of a client.
#pragma once

#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "backend/pjrt/abi.h"
#include "backend/pjrt/buffer.h"
#include "backend/pjrt/event.h"

namespace bertrain {

struct CompileFlags {
  int replicas = 1;  // replica i runs on device i
};

using PjrtBuffers = std::vector<std::unique_ptr<PjrtBuffer>>;

// One thread at a time.
class PjrtExecutable {
 public:
  PjrtExecutable(std::shared_ptr<const PjrtClient> client, AbiLoadedExecutable* loaded,
                 const CompileFlags& flags, double compile_seconds);
  ~PjrtExecutable();
  PjrtExecutable(const PjrtExecutable&) = delete;
  PjrtExecutable& operator=(const PjrtExecutable&) = delete;

  // arguments[d][i]: argument i on device d. Gives results[d][i], of types[i], on every device.
  // Returns when the run is enqueued. At most two are then under way, this one among them: with two
  // before it, the older one is waited for first.
  // What fails later is thrown by `get` of the results, by wait() or by the next run. Arguments that
  // the program takes over are told by their owner (PjrtBuffer::donated) after this.
  std::vector<PjrtBuffers> run(const std::vector<std::vector<PjrtBuffer*>>& arguments,
                               const std::vector<ArrayType>& types);
  void wait();  // until every run is complete; throws the first one's error

  // Bytes of one device; flops and traffic where the plugin counts them, else 0.
  ProgramFacts facts() const;

 private:
  void settle(size_t allowed);
  void check_types(const std::vector<ArrayType>& types) const;
  std::shared_ptr<const PjrtClient> client_;
  AbiLoadedExecutable* loaded_;
  AbiExecutable* executable_ = nullptr;
  size_t replicas_;
  double compile_seconds_;
  bool types_checked_ = false;
  std::deque<std::vector<PjrtEvent>> running_;  // a run's events, one of each device
  // Kept between runs, so that a run allocates little.
  std::vector<AbiBuffer*> given_, made_;
  std::vector<AbiBuffer* const*> given_by_device_;
  std::vector<AbiBuffer**> made_by_device_;
  std::vector<AbiEvent*> events_;
};

// The struct that hands over a program's text, which must outlive it.
AbiProgram program_of(std::string_view stablehlo);

// What the compiler says of a program, also of one without devices.
ProgramFacts facts_of(const PjrtPlugin& plugin, AbiExecutable* executable);

}  // namespace bertrain
