// Reads the head of an ELF file and the table of what is to be mapped.
#include "backend/pjrt/shared_object.h"

#include <elf.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/quote.h"

namespace bertrain {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
#else
constexpr uint16_t kMachine = EM_NONE;
#endif

constexpr const char* kExpected = "a plugin is a shared library, such as pjrt_c_api_cpu_plugin.so";

}  // namespace

void require_shared_object(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code failure;
  fs::file_status status = fs::status(path, failure);
  if (status.type() == fs::file_type::not_found) {
    throw usage_error("{}: no such file; {}", quote(path), kExpected);
  }
  if (status.type() == fs::file_type::directory) {
    throw usage_error("{} is a folder; {}", quote(path), kExpected);
  }
  if (status.type() != fs::file_type::regular) {
    throw usage_error("{} cannot be read as a file; {}", quote(path), kExpected);
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) throw usage_error("{} cannot be opened for reading", quote(path));
  uint64_t size = fs::file_size(path, failure);
  Elf64_Ehdr head{};
  if (size < sizeof head || !file.read(reinterpret_cast<char*>(&head), sizeof head) ||
      std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
      head.e_type != ET_DYN) {
    throw usage_error("{} is no shared library; {}", quote(path), kExpected);
  }
  if (kMachine != EM_NONE && head.e_machine != kMachine) {
    throw usage_error("{} is a library for another kind of processor", quote(path));
  }
  // A page that the file does not have ends the process when it is touched, not the load.
  for (uint32_t i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr part{};
    file.seekg(static_cast<std::streamoff>(head.e_phoff + i * uint64_t{head.e_phentsize}));
    if (!file.read(reinterpret_cast<char*>(&part), sizeof part) || part.p_offset > size ||
        (part.p_type == PT_LOAD && part.p_filesz > size - part.p_offset)) {
      throw usage_error("{} is cut short: it was not downloaded or copied completely", quote(path));
    }
  }
}

}  // namespace bertrain
