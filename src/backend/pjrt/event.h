// What tells that something a plugin does in the background is done, or has failed.
#pragma once

#include <utility>

#include "backend/pjrt/call.h"

namespace bertrain {

class PjrtEvent {
 public:
  PjrtEvent(const PjrtPlugin& plugin, AbiEvent* event) : plugin_(&plugin), event_(event) {}
  PjrtEvent(PjrtEvent&& other) noexcept
      : plugin_(other.plugin_), event_(std::exchange(other.event_, nullptr)) {}
  PjrtEvent& operator=(PjrtEvent&&) = delete;
  ~PjrtEvent() {
    if (event_ == nullptr) return;
    AbiEventDestroy destroy{};
    destroy.event = event_;
    give_back(*plugin_, destroy);
  }

  bool is_ready() const {
    if (event_ == nullptr) return true;
    AbiEventIsReady args{};
    args.event = event_;
    call(*plugin_, args);
    return args.is_ready;
  }

  // Until it is done; throws its error, with the name of the function that began it.
  void wait(const char* method) const {
    if (event_ == nullptr) return;
    AbiEventAwait args{};
    args.event = event_;
    Failure failure = attempt(*plugin_, args);
    if (failure) throw failure.take(method);
  }

  // Calls back once, from any thread, perhaps before this returns; the event may go at once.
  void on_ready(void (*callback)(AbiError*, void*), void* argument) const {
    AbiEventOnReady args{};
    args.event = event_;
    args.callback = callback;
    args.user_arg = argument;
    call(*plugin_, args);
  }

 private:
  const PjrtPlugin* plugin_;
  AbiEvent* event_;
};

}  // namespace bertrain
