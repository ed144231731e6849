// What the processes of one run say to each other.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace bertrain {

class Pending {
 public:
  virtual ~Pending() = default;
  virtual bool poll() = 0;  // lets it progress; true when done
  virtual void wait() = 0;
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::unique_ptr<Pending> start_sum(std::span<float> values) = 0;
  virtual void broadcast(std::span<std::byte> bytes, int root) = 0;
  virtual std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes,
                                                     int root) = 0;
  virtual void barrier() = 0;
  virtual void abort(std::string_view reason) = 0;
};

std::unique_ptr<Communicator> solo();  // one process: every exchange is the identity

}  // namespace bertrain
