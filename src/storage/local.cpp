// Local files as objects.
#include "storage/local.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "storage/file_descriptor.h"
#include "storage/local_writer.h"

namespace bertrain {
namespace {

FileDescriptor open_to_read(const std::string& path) {
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) throw error("{}: {}", path, std::strerror(errno));
  struct stat status;
  if (::fstat(fd.number(), &status) == 0 && S_ISDIR(status.st_mode)) {
    throw error("{}: is a directory; a file is expected", path);
  }
  return fd;
}

// Of ranges that are read at their place, which a pipe has none of; opening one would wait for a writer.
FileDescriptor open_file(const std::string& path) {
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.is_open()) throw error("{}: {}", path, std::strerror(errno));
  struct stat status;
  if (::fstat(fd.number(), &status) == 0 && !S_ISREG(status.st_mode)) {
    throw error("{}: is a {}; a file is expected", path,
                S_ISDIR(status.st_mode) ? "directory" : "pipe or a device");
  }
  return fd;
}

class LocalBytes : public ByteReader {
 public:
  LocalBytes(std::string name, FileDescriptor fd) : name_(std::move(name)), fd_(std::move(fd)) {}

  size_t read(std::span<std::byte> into) override {
    size_t done = 0;
    while (done < into.size()) {
      size_t n = read_some(into.subspan(done));
      if (n == 0) break;
      done += n;
    }
    return done;
  }

  size_t read_some(std::span<std::byte> into) override {
    for (;;) {
      ssize_t n = ::read(fd_.number(), into.data(), into.size());
      if (n >= 0) return static_cast<size_t>(n);
      if (errno != EINTR) throw error("{}: {}", name_, std::strerror(errno));
    }
  }

 private:
  std::string name_;
  FileDescriptor fd_;
};

}  // namespace

std::optional<uint64_t> LocalStorage::size(std::string_view uri) {
  std::string path(uri);
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    throw error("{}: {}", path, std::strerror(errno));
  }
  if (S_ISDIR(status.st_mode)) return std::nullopt;
  return static_cast<uint64_t>(status.st_size);
}

void LocalStorage::read(std::string_view uri, uint64_t offset, std::span<std::byte> into) {
  std::string path(uri);
  FileDescriptor fd = open_file(path);
  size_t done = 0;
  while (done < into.size()) {
    ssize_t n = ::pread(fd.number(), into.data() + done, into.size() - done,
                        static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw error("{}: {}", path, std::strerror(errno));
    if (n == 0) {
      throw error("{}: truncated: {} bytes expected at offset {}, {} found", path, into.size(),
                  offset, done);
    }
    done += static_cast<size_t>(n);
  }
}

std::unique_ptr<Writer> LocalStorage::create(std::string_view uri, Exists exists) {
  return write_local(uri, exists);
}

std::vector<Object> LocalStorage::list(std::string_view prefix) {
  namespace fs = std::filesystem;
  size_t slash = prefix.rfind('/');
  std::string directory(slash == std::string_view::npos ? "" : prefix.substr(0, slash + 1));
  std::vector<Object> objects;
  std::error_code failure;
  fs::recursive_directory_iterator entries(directory.empty() ? "." : directory, failure), end;
  if (failure == std::errc::no_such_file_or_directory || failure == std::errc::not_a_directory) {
    return objects;
  }
  for (; !failure && entries != end; entries.increment(failure)) {
    std::string path = entries->path().string();
    if (directory.empty()) path.erase(0, 2);  // the iterator's own "./"
    if (!path.starts_with(prefix)) {
      // Nothing below a directory matches unless the directory's path and the prefix agree as far
      // as both go.
      if (!prefix.starts_with(path)) entries.disable_recursion_pending();
      continue;
    }
    if (is_partial_name(entries->path().filename().string())) continue;
    if (std::optional<uint64_t> bytes = size(path)) objects.push_back({path, *bytes});
  }
  if (failure) throw error("{}: cannot be listed: {}", prefix, failure.message());
  std::sort(objects.begin(), objects.end(),
            [](const Object& a, const Object& b) { return a.uri < b.uri; });
  return objects;
}

void LocalStorage::remove(std::string_view uri) {
  std::string path(uri);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT && errno != ENOTDIR) {
    throw error("{}: cannot be removed: {}", path, std::strerror(errno));
  }
}

std::unique_ptr<ByteReader> read_local_bytes(std::string_view path) {
  if (path == "-") {
    // A copy, so that closing the reader leaves the process its standard input.
    FileDescriptor fd(::dup(0));
    if (!fd.is_open()) throw error("standard input: {}", std::strerror(errno));
    return std::make_unique<LocalBytes>("standard input", std::move(fd));
  }
  std::string name(path);
  return std::make_unique<LocalBytes>(name, open_to_read(name));
}

std::vector<std::string> glob_local(const std::string& pattern) {
  glob_t found = {};
  int code = ::glob(pattern.c_str(), 0, nullptr, &found);
  std::vector<std::string> names;
  for (size_t i = 0; code == 0 && i < found.gl_pathc; ++i) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(found.gl_pathv[i], ignored)) {
      names.emplace_back(found.gl_pathv[i]);
    }
  }
  ::globfree(&found);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace bertrain
