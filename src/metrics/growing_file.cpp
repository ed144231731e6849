// Growing files: O_APPEND locally, numbered objects where nothing can be appended to.
#include "metrics/growing_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

class LocalFile : public GrowingFile {
 public:
  explicit LocalFile(std::string path) : path_(std::move(path)) {
    auto parent = std::filesystem::path(path_).parent_path();
    std::error_code failure;
    if (!parent.empty()) std::filesystem::create_directories(parent, failure);
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file_ < 0) throw failed("opening");
  }
  ~LocalFile() override { ::close(file_); }
  LocalFile(const LocalFile&) = delete;
  LocalFile& operator=(const LocalFile&) = delete;

  void append(std::string_view bytes) override {
    while (!bytes.empty()) {
      ssize_t n = ::write(file_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) throw failed("writing");
      bytes.remove_prefix(static_cast<size_t>(n));
    }
  }

  void flush() override {}

 private:
  Error failed(std::string_view action) const {
    return error("{}: {}: {}", path_, action, std::strerror(errno));
  }

  std::string path_;
  int file_;
};

class ObjectPieces : public GrowingFile {
 public:
  explicit ObjectPieces(std::string uri) : uri_(std::move(uri)) {
    while (storage_for(uri_).size(name())) ++pieces_;
  }
  ~ObjectPieces() override {
    try {
      flush();
    } catch (const std::exception&) {
      // A destructor cannot say it; whoever must know calls flush().
    }
  }

  void append(std::string_view bytes) override { pending_ += bytes; }

  void flush() override {
    if (pending_.empty()) return;
    write_text(name(), pending_);
    pending_.clear();
    ++pieces_;
  }

 private:
  std::string name() const { return pieces_ == 0 ? uri_ : fmt::format("{}.{}", uri_, pieces_); }

  std::string uri_, pending_;
  int pieces_ = 0;  // there already
};

}  // namespace

std::unique_ptr<GrowingFile> open_growing_file(std::string_view uri) {
  if (uri.find("://") == std::string_view::npos) {
    return std::make_unique<LocalFile>(std::string(uri));
  }
  return std::make_unique<ObjectPieces>(std::string(uri));
}

}  // namespace bertrain
