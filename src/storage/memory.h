// Objects in this process's memory under mem://NAME: the twin of real storage in tests.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "storage/storage.h"

namespace bertrain {

class MemoryStorage : public Storage {
 public:
  std::optional<uint64_t> size(std::string_view uri) override;
  void read(std::string_view uri, uint64_t offset, std::span<std::byte> into) override;
  std::unique_ptr<Writer> create(std::string_view uri, Exists exists) override;
  std::vector<Object> list(std::string_view prefix) override;
  void remove(std::string_view uri) override;

  // Makes `bytes` the object's content; throws if it exists and must not.
  void publish(const std::string& uri, Exists exists, std::string bytes);

 private:
  std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> objects_;
};

}  // namespace bertrain
