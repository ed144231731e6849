// A stream read ahead by a thread of its own, so that reading and computing overlap.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/machine.h"
#include "data/streams.h"

namespace bertrain {

// The same values in the same order. An exception of the source is thrown by the next() that would
// have met it. The thread starts at the first next(), so that a skip before it still seeks.
template <class T>
class Prefetch final : public Stream<T> {
 public:
  Prefetch(std::unique_ptr<Stream<T>> from, size_t depth)
      : from_(std::move(from)), depth_(std::max<size_t>(depth, 1)) {}

  ~Prefetch() override {
    if (!thread_.joinable()) return;
    {
      std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Prefetch(const Prefetch&) = delete;
  Prefetch& operator=(const Prefetch&) = delete;

  std::optional<T> next() override {
    if (!thread_.joinable()) {
      thread_ = std::thread([this, threads = loop_threads()] {
        use_threads(threads);
        run();
      });
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !ready_.empty() || ended_; });
    if (ready_.empty()) {
      if (failure_) std::rethrow_exception(failure_);
      return std::nullopt;
    }
    std::optional<T> value = std::move(ready_.front());
    ready_.pop_front();
    lock.unlock();
    changed_.notify_all();
    return value;
  }

  uint64_t skip(uint64_t count) override {
    return thread_.joinable() ? Stream<T>::skip(count) : from_->skip(count);
  }

 private:
  void run() {
    try {
      for (;;) {
        std::optional<T> value = from_->next();
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return ready_.size() < depth_ || stopped_; });
        if (stopped_) return;
        if (!value) {
          ended_ = true;
          changed_.notify_all();
          return;
        }
        ready_.push_back(std::move(*value));
        changed_.notify_all();
      }
    } catch (...) {
      std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
      ended_ = true;
      changed_.notify_all();
    }
  }

  std::unique_ptr<Stream<T>> from_;  // of the thread alone, once it runs
  size_t depth_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<T> ready_;
  std::exception_ptr failure_;
  bool ended_ = false, stopped_ = false;
  std::thread thread_;
};

template <class T>
std::unique_ptr<Stream<T>> prefetch(std::unique_ptr<Stream<T>> from, size_t depth) {
  return std::make_unique<Prefetch<T>>(std::move(from), depth);
}

}  // namespace bertrain
