// The `checkpoint` state file of TensorFlow: which checkpoints a directory has, and the newest.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <sstream>

#include "base/error.h"
#include "checkpoint/tf_bundle.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

constexpr std::string_view kNewest = "model_checkpoint_path", kAll = "all_model_checkpoint_paths";
constexpr uint64_t kMaxState = 1 << 20;

// A string of protobuf's text format, in either quotes.
std::optional<std::string> unquote(std::string_view text) {
  if (text.size() < 2 || (text[0] != '"' && text[0] != '\'') || text.back() != text[0]) {
    return std::nullopt;
  }
  std::string value;
  text = text.substr(1, text.size() - 2);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      value += text[i];
      continue;
    }
    if (++i == text.size()) return std::nullopt;
    auto digit = [&](size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '7'; };
    if (digit(i) && digit(i + 1) && digit(i + 2)) {
      value +=
          static_cast<char>((text[i] - '0') * 64 + (text[i + 1] - '0') * 8 + text[i + 2] - '0');
      i += 2;
    } else {
      value += text[i] == 'n' ? '\n' : text[i] == 't' ? '\t' : text[i];
    }
  }
  return value;
}

std::string quote(std::string_view value) {
  std::string text = "\"";
  for (char c : value) {
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) {
      text += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    } else {
      text += c;
    }
  }
  return text + "\"";
}

}  // namespace

std::vector<std::string> read_tf_state(std::string_view uri) {
  std::string newest;
  std::vector<std::string> prefixes;
  std::istringstream lines(read_file_up_to(uri, kMaxState));
  uint64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::string_view rest = line;
    size_t colon = rest.find(':');
    std::string_view key = rest.substr(0, colon);
    if (key != kNewest && key != kAll) continue;  // timestamps, and what later versions add
    rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(" \t", colon + 1)));
    while (rest.ends_with('\r') || rest.ends_with(' ')) rest.remove_suffix(1);
    std::optional<std::string> value = unquote(rest);
    if (!value || value->empty()) {
      throw error("{}:{}: a path in quotes is expected after {}", uri, number, key);
    }
    std::string prefix = join_path(folder_part(uri), *value);
    if (key == kNewest) {
      newest = prefix;
    } else {
      prefixes.push_back(prefix);
    }
  }
  if (newest.empty()) throw error("{}: names no checkpoint ({} is expected)", uri, kNewest);
  std::erase(prefixes, newest);
  prefixes.push_back(newest);
  return prefixes;
}

void write_tf_state(std::string_view directory, const std::vector<std::string>& prefixes) {
  check(!prefixes.empty(), "a state file names one checkpoint at least");
  // Relative, so that the directory can be moved.
  auto line = [&](std::string_view key, std::string_view prefix) {
    return fmt::format("{}: {}\n", key, quote(prefix.substr(folder_part(prefix).size())));
  };
  std::string text = line(kNewest, prefixes.back());
  for (const std::string& prefix : prefixes) text += line(kAll, prefix);
  std::string file = join_path(directory, "checkpoint");
  refuse_pipe(file);
  write_text(file, text);
}

}  // namespace bertrain
