// Which storage a name belongs to, names made of lists and patterns, and whole texts.
#include "storage/storage.h"

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "storage/local.h"
#include "storage/memory.h"

namespace bertrain {
namespace {

// No vocabulary or configuration comes near it; /dev/zero and a wrong name for a corpus do.
constexpr size_t kMaxText = size_t{256} << 20;

std::string_view scheme_of(std::string_view uri) {
  size_t end = uri.find("://");
  if (end == std::string_view::npos) return "";
  std::string_view scheme = uri.substr(0, end);
  auto belongs = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '-';
  };
  return std::all_of(scheme.begin(), scheme.end(), belongs) ? scheme : "";
}

bool is_pattern(std::string_view part) {
  return part.find_first_of("*?[") != std::string_view::npos;
}

std::vector<std::string> match(const std::string& pattern) {
  if (scheme_of(pattern).empty()) return glob_local(pattern);
  std::vector<std::string> names;
  for (const Object& o :
       storage_for(pattern).list(pattern.substr(0, pattern.find_first_of("*?[")))) {
    if (::fnmatch(pattern.c_str(), o.uri.c_str(), FNM_PATHNAME) == 0) names.push_back(o.uri);
  }
  return names;
}

bool is_there(const std::string& name) { return name == "-" || exists(name); }

void expand_part(const std::string& part, std::vector<std::string>& names) {
  // A file whose own name holds pattern characters is meant before the pattern is.
  if (is_there(part)) return names.push_back(part);
  if (!is_pattern(part)) {
    if (scheme_of(part).empty() && std::filesystem::is_directory(part)) {
      throw error("{}: is a directory; {} names the files in it", part, join_path(part, "*"));
    }
    throw error("{}: no such file", part);
  }
  std::vector<std::string> matches = match(part);
  if (matches.empty()) throw error("no file matches '{}'", part);
  names.insert(names.end(), matches.begin(), matches.end());
}

}  // namespace

Storage& storage_for(std::string_view uri) {
  static LocalStorage local;
  static MemoryStorage memory;
  std::string_view scheme = scheme_of(uri);
  if (scheme.empty()) return local;
  if (scheme == "mem") return memory;
  if (scheme == "gs" || scheme == "s3") {
    throw error("{}: this build does not support buckets yet; use a local path", uri);
  }
  throw error("{}: no storage is known as '{}://'; local paths are", uri, scheme);
}

std::vector<std::string> expand_globs(std::string_view list) {
  std::vector<std::string> names;
  if (list.empty()) throw error("a file name is expected, and an empty one was given");
  std::string whole(list);
  if (is_there(whole)) return {whole};  // commas may be part of a name
  for (size_t start = 0; start <= list.size();) {
    size_t comma = std::min(list.find(',', start), list.size());
    if (comma == start) throw error("'{}': a file name is missing beside a comma", list);
    expand_part(whole.substr(start, comma - start), names);
    start = comma + 1;
  }
  return names;
}

namespace {

std::string read_whole(std::string_view uri, uint64_t most) {
  std::unique_ptr<ByteReader> bytes = read_bytes(uri);
  std::string text;
  for (size_t block = size_t{64} << 10;; block = std::min(block * 2, size_t{64} << 20)) {
    size_t start = text.size();
    text.resize(start + block);
    size_t n = bytes->read(std::as_writable_bytes(std::span(text)).subspan(start));
    text.resize(start + n);
    if (text.size() > most)
      throw error("{}: has more than {} bytes, which no such file has", uri, most);
    if (n < block) return text;
    if (text.size() > kMaxText) {
      throw error(
          "{}: more than {} MiB, where a text that is read whole (a vocabulary, a configuration) "
          "is expected",
          uri, kMaxText >> 20);
    }
  }
}

}  // namespace

bool exists(std::string_view uri) { return storage_for(uri).size(uri).has_value(); }

std::string read_text(std::string_view uri) { return read_whole(uri, UINT64_MAX); }

std::string read_text_up_to(std::string_view uri, uint64_t most) { return read_whole(uri, most); }

std::string read_file_up_to(std::string_view uri, uint64_t most) {
  refuse_pipe(uri);
  return read_whole(uri, most);
}

void write_text(std::string_view uri, std::string_view text) {
  std::unique_ptr<Writer> writer = storage_for(uri).create(uri, Exists::replace);
  writer->append(std::as_bytes(std::span(text)));
  writer->commit();
}

bool is_local(std::string_view uri) { return scheme_of(uri).empty(); }

bool is_read_once(std::string_view uri) {
  if (uri == "-") return true;
  if (!scheme_of(uri).empty()) return false;
  std::error_code none;
  std::filesystem::file_status status = std::filesystem::status(uri, none);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
         !std::filesystem::is_directory(status);
}

void require_rereadable(std::string_view uri) {
  if (!is_read_once(uri)) return;
  throw error(
      "{}: is a pipe or a device; a run reads its data again whenever it goes on, so write them to "
      "a file first",
      uri == "-" ? "standard input" : uri);
}

void refuse_pipe(std::string_view uri) {
  if (is_read_once(uri)) throw error("{}: is a pipe or a device; a file is expected", uri);
}

bool same_object(std::string_view a, std::string_view b) {
  if (a == b) return true;
  if (!scheme_of(a).empty() || !scheme_of(b).empty()) return false;
  std::error_code none;
  if (std::filesystem::equivalent(a, b, none)) return true;  // device and inode
  auto real = [&](std::string_view name) {
    // Absolute first: a path of which nothing is there would stay as it is.
    return std::filesystem::weakly_canonical(std::filesystem::absolute(name, none), none);
  };
  std::filesystem::path path = real(a);
  return !path.empty() && path == real(b);
}

void refuse_overwriting(std::string_view output, std::span<const std::string> inputs,
                        std::string_view said_as) {
  if (output == "-") return;
  // A device (/dev/null) is not replaced by what is written to it.
  std::error_code none;
  std::filesystem::file_status status = std::filesystem::status(output, none);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) return;
  for (const std::string& input : inputs) {
    if (input.empty() || input == "-" || !same_object(output, input)) continue;
    throw usage_error(
        "{}: is input and output at once, as it is the file {}; another name is expected", said_as,
        input);
  }
}

std::string without_slashes(std::string_view uri) {
  while (uri.size() > 1 && uri.ends_with('/') && !uri.ends_with("://")) uri.remove_suffix(1);
  return std::string(uri);
}

std::string_view folder_part(std::string_view uri) {
  return uri.substr(0, uri.rfind('/') + 1);  // npos + 1 is 0
}

std::string join_path(std::string_view directory, std::string_view name) {
  if (directory.empty() || name.starts_with('/') || !scheme_of(name).empty()) {
    return std::string(name);
  }
  std::string path(directory);
  if (!path.ends_with('/')) path += '/';
  return path += name;
}

}  // namespace bertrain
