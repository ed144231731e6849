// Atomic publication of local files by a hidden neighbour and a rename.
#include "storage/local_writer.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>

#include "base/error.h"
#include "storage/file_descriptor.h"

namespace bertrain {
namespace {

constexpr std::string_view kPartial = ".partial";
constexpr size_t kBufferBytes = size_t{1} << 20;

std::string parent_of(const std::string& path) {
  std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

void sync_directory(const std::string& directory) {
  FileDescriptor fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems cannot sync a directory (EINVAL); the rename has happened all the same.
  if (fd.is_open()) ::fsync(fd.number());
}

void make_directories(const std::string& directory) {
  struct stat status;
  if (::stat(directory.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) return;
    throw error("{}: not a directory, so no file can be written below it", directory);
  }
  std::string parent = parent_of(directory);
  if (parent != directory) make_directories(parent);
  if (::mkdir(directory.c_str(), 0777) != 0 && errno != EEXIST) {
    throw error("{}: cannot make the directory: {}", directory, std::strerror(errno));
  }
  sync_directory(parent);
}

// Removes what killed processes left in a directory, once per process and directory. A living
// writer holds a lock on its file, which ends with the process, on whatever machine it runs.
void remove_leftovers(const std::string& directory) {
  static std::mutex mutex;
  static std::set<std::string> done;
  std::lock_guard<std::mutex> guard(mutex);
  if (!done.insert(directory).second) return;
  std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(directory.c_str()), ::closedir);
  if (!entries) return;
  while (const dirent* entry = ::readdir(entries.get())) {
    if (!is_partial_name(entry->d_name)) continue;
    std::string path = join_path(directory, entry->d_name);
    FileDescriptor fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (fd.is_open() && ::flock(fd.number(), LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
  }
}

// The hidden files of living writers, where a signal handler finds them. A file without a slot is
// left to the clean-up of the next writer.
constexpr size_t kSlots = 64;
constexpr size_t kSlotBytes = 4096;
struct PartialSlot {
  std::atomic<int> state{0};  // 0 free, 1 being filled, 2 filled
  std::array<char, kSlotBytes> path{};
};
std::array<PartialSlot, kSlots> partial_slots;

PartialSlot* take_slot(const std::string& path) {
  if (path.size() >= kSlotBytes) return nullptr;
  for (PartialSlot& slot : partial_slots) {
    int free = 0;
    if (!slot.state.compare_exchange_strong(free, 1)) continue;
    std::memcpy(slot.path.data(), path.c_str(), path.size() + 1);
    slot.state = 2;
    return &slot;
  }
  return nullptr;
}

extern "C" void remove_partials(int number) {
  for (PartialSlot& slot : partial_slots) {
    if (slot.state == 2) ::unlink(slot.path.data());
  }
  ::signal(number, SIG_DFL);
  ::raise(number);
}

class LocalWriter : public Writer {
 public:
  LocalWriter(std::string path, Exists exists) : path_(std::move(path)), exists_(exists) {
    buffer_.reserve(kBufferBytes);
    struct stat status;
    bool there = ::stat(path_.c_str(), &status) == 0;
    if (there && S_ISDIR(status.st_mode)) {
      throw error("{}: is a directory; a file name is expected", path_);
    }
    if (there && !S_ISREG(status.st_mode)) {
      open_in_place();
      return;
    }
    if (there && exists_ == Exists::fail) throw already_there();
    resolve_link();
    make_directories(parent_of(path_));
    remove_leftovers(parent_of(path_));
    open_partial();
  }

  ~LocalWriter() override {
    if (!partial_.empty()) ::unlink(partial_.c_str());
    free_slot();
  }

  void append(std::span<const std::byte> bytes) override {
    check(fd_.is_open(), "append to a committed file");
    if (buffer_.size() + bytes.size() > kBufferBytes) flush();
    if (bytes.size() >= kBufferBytes) return write(bytes);
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }

  void settle() override {
    flush();
    if (!partial_.empty() && ::fsync(fd_.number()) != 0) throw failed("syncing", errno);
  }

  void commit() override {
    check(fd_.is_open(), "a file is committed once");
    flush();
    if (partial_.empty()) {
      fd_ = FileDescriptor();
      return;
    }
    if (::fsync(fd_.number()) != 0) throw failed("syncing", errno);
    publish();
    partial_.clear();
    free_slot();
    // The lock ends here, after the name has gone. Some network file systems report a full disk
    // only on closing.
    if (::close(fd_.release()) != 0) throw failed("closing", errno);
    sync_directory(parent_of(path_));
  }

 private:
  // Pipes and devices cannot be replaced: what is appended is gone at once.
  void open_in_place() {
    fd_ = FileDescriptor(::open(path_.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd_.is_open()) throw failed("opening", errno);
  }

  void resolve_link() {
    struct stat status;
    if (::lstat(path_.c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) return;
    std::unique_ptr<char, void (*)(void*)> real(::realpath(path_.c_str(), nullptr), std::free);
    if (real) path_ = real.get();
  }

  void open_partial() {
    static std::atomic<uint64_t> count{0};
    std::string directory = parent_of(path_);
    std::string name = std::filesystem::path(path_).filename().string();
    if (name.empty()) throw error("{}: a file name is expected", path_);
    if (name.size() > 200) name.resize(200);  // names end at 255 bytes
    for (;;) {
      partial_ =
          join_path(directory, fmt::format(".{}.{}-{}{}", name, ::getpid(), ++count, kPartial));
      fd_ = FileDescriptor(::open(partial_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
      if (!fd_.is_open()) {
        int reason = errno;
        if (reason == EEXIST) continue;  // another host or container with our process number
        partial_.clear();
        throw failed("creating", reason);
      }
      slot_ = take_slot(partial_);
      ::flock(fd_.number(), LOCK_EX);
      struct stat status;
      if (::fstat(fd_.number(), &status) == 0 && status.st_nlink > 0) return;
      // Between creating and locking, somebody's clean-up took it for a leftover.
      free_slot();
    }
  }

  void free_slot() {
    if (slot_ != nullptr) slot_->state = 0;
    slot_ = nullptr;
  }

  void publish() {
    if (exists_ == Exists::replace) {
      if (::rename(partial_.c_str(), path_.c_str()) != 0) throw failed("renaming", errno);
      return;
    }
    if (::link(partial_.c_str(), path_.c_str()) == 0) {
      ::unlink(partial_.c_str());
      return;
    }
    if (errno == EEXIST) throw already_there();
    // File systems without hard links.
    if (::renameat2(AT_FDCWD, partial_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) == 0) {
      return;
    }
    if (errno == EEXIST) throw already_there();
    throw failed("renaming", errno);
  }

  void flush() {
    write(buffer_);
    buffer_.clear();
  }

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      ssize_t n = ::write(fd_.number(), bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) throw failed("writing", errno, bytes.size());
      bytes = bytes.subspan(static_cast<size_t>(n));
      written_ += static_cast<uint64_t>(n);
    }
  }

  Error already_there() const { return error("{}: exists already", path_); }

  Error failed(std::string_view action, int reason, uint64_t pending = 0) const {
    if (reason == ENOSPC || reason == EDQUOT) {
      struct statvfs space = {};
      ::statvfs(parent_of(path_).c_str(), &space);
      uint64_t room = written_ + static_cast<uint64_t>(space.f_bavail) * space.f_frsize;
      uint64_t need = written_ + pending;
      // Where it is not the folder's file system that is full (a device, a limit on what a user may
      // have), its room says nothing.
      std::string rest = room < need ? fmt::format(" and there is room for {}", room) : "";
      return error("{}: {}: {}; at least {} bytes are needed{}", path_, action,
                   std::strerror(reason), need, rest);
    }
    return error("{}: {}: {}", path_, action, std::strerror(reason));
  }

  std::string path_, partial_;  // partial_ is empty when there is nothing to discard
  Exists exists_;
  PartialSlot* slot_ = nullptr;
  FileDescriptor fd_;
  std::vector<std::byte> buffer_;
  uint64_t written_ = 0;
};

}  // namespace

bool is_partial_name(std::string_view file_name) {
  return file_name.starts_with('.') && file_name.ends_with(kPartial);
}

void remove_partial_files_on_signals() {
  for (int number : {SIGTERM, SIGINT, SIGHUP}) {
    struct sigaction before = {};
    if (::sigaction(number, nullptr, &before) == 0 && before.sa_handler == SIG_DFL) {
      ::signal(number, remove_partials);
    }
  }
}

std::unique_ptr<Writer> write_local(std::string_view path, Exists exists) {
  return std::make_unique<LocalWriter>(std::string(path), exists);
}

}  // namespace bertrain
