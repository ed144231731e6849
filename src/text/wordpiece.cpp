// The double-array trie and the matching loop.
#include "text/wordpiece.h"

#include <algorithm>

#include "base/error.h"

namespace bertrain {
namespace {

constexpr uint32_t kAlphabet = 256;
// Places tried for a node with several children before the array is extended instead: keeps
// building linear.
constexpr int kTries = 64;

bool more_code_points_than(std::string_view text, size_t limit) {
  if (text.size() <= limit) return false;
  size_t count = 0;
  for (char c : text) count += (c & 0xC0) != 0x80;
  return count > limit;
}

}  // namespace

// Places the children of one node after the other; free places form a list in ascending order.
class WordPiece::Builder {
 public:
  struct Token {
    std::string_view text;
    int32_t id;
  };

  Builder(std::vector<Node>& nodes, const std::vector<Token>& tokens)
      : nodes_(nodes), tokens_(tokens) {}

  void build() {
    nodes_.assign(1, Node{});
    next_.assign(1, 1);
    previous_.assign(1, 0);
    std::vector<Task> tasks = {{0, 0, tokens_.size(), 0}};
    while (!tasks.empty()) {
      Task task = tasks.back();
      tasks.pop_back();
      place(task, tasks);
    }
    grow(nodes_.size() + kAlphabet);
  }

 private:
  struct Task {
    uint32_t node;
    size_t first, last, depth;  // tokens[first, last) share their first `depth` bytes
  };
  struct Child {
    unsigned char byte;
    size_t first, last;
  };

  void place(Task task, std::vector<Task>& tasks) {
    if (task.first < task.last && tokens_[task.first].text.size() == task.depth) {
      nodes_[task.node].id =
          tokens_[task.first++].id;  // sorted: the token that ends here is the first
    }
    children_.clear();
    for (size_t i = task.first; i < task.last; ++i) {
      auto byte = static_cast<unsigned char>(tokens_[i].text[task.depth]);
      if (children_.empty() || children_.back().byte != byte) children_.push_back({byte, i, i});
      children_.back().last = i + 1;
    }
    if (children_.empty()) return;
    uint32_t base = find_base();
    nodes_[task.node].base = base;
    for (const Child& c : children_) {
      take(base + c.byte);
      nodes_[base + c.byte].parent = task.node;
      tasks.push_back({base + c.byte, c.first, c.last, task.depth + 1});
    }
  }

  bool is_free(uint32_t at) const { return at != 0 && nodes_[at].parent == kNowhere; }

  // A single child takes the first free place; several look from where the array last grew, because
  // what is free further in front has been found too narrow before.
  uint32_t find_base() {
    unsigned char first = children_[0].byte;
    uint32_t at = next_[0];
    if (children_.size() > 1) {
      at = roomy_;
      while (at < nodes_.size() && !is_free(at)) ++at;
    }
    for (int tries = 0; tries < kTries; ++tries, at = next_[at]) {
      while (at < nodes_.size() && at < first) at = next_[at];
      if (at + kAlphabet >= nodes_.size()) break;
      uint32_t base = at - first;
      bool fits = std::all_of(children_.begin(), children_.end(),
                              [&](const Child& c) { return is_free(base + c.byte); });
      if (fits) return base;
    }
    roomy_ = static_cast<uint32_t>(nodes_.size());
    grow(nodes_.size() + 2 * kAlphabet);
    return roomy_;
  }

  // Place 0 is the root and the head of the list; the list's end is nodes_.size().
  void grow(size_t size) {
    size_t old = nodes_.size();
    nodes_.resize(size);
    next_.resize(size);
    previous_.resize(size);
    for (size_t i = old; i < size; ++i) {
      next_[i] = static_cast<uint32_t>(i + 1);
      previous_[i] = i == old ? last_ : static_cast<uint32_t>(i - 1);
    }
    next_[last_] = static_cast<uint32_t>(old);
    last_ = static_cast<uint32_t>(size - 1);
  }

  void take(uint32_t at) {
    uint32_t before = previous_[at], after = next_[at];
    next_[before] = after;
    if (after < nodes_.size()) {
      previous_[after] = before;
    } else {
      last_ = before;
    }
  }

  std::vector<Node>& nodes_;
  const std::vector<Token>& tokens_;  // sorted by text
  std::vector<uint32_t> next_, previous_;
  uint32_t last_ = 0;
  uint32_t roomy_ = 0;
  std::vector<Child> children_;
};

WordPiece::WordPiece(const Vocabulary& vocabulary, int64_t max_chars_per_word)
    : continuation_(0),
      unknown_(vocabulary.id(kUnknown)),
      max_chars_(static_cast<size_t>(max_chars_per_word)) {
  std::vector<Builder::Token> tokens;
  for (const std::string& token : vocabulary.tokens())
    tokens.push_back({token, vocabulary.find(token)});
  std::sort(tokens.begin(), tokens.end(),
            [](const auto& a, const auto& b) { return a.text < b.text; });
  auto same = [](const auto& a, const auto& b) { return a.text == b.text; };
  tokens.erase(std::unique(tokens.begin(), tokens.end(), same), tokens.end());
  Builder(nodes_, tokens).build();
  for (char c : std::string_view("##")) {
    if (continuation_ != kNowhere) continuation_ = child(continuation_, c);
  }
}

void WordPiece::match(std::string_view word, std::vector<WordPieceMatch>& out) const {
  out.clear();
  if (more_code_points_than(word, max_chars_)) {
    out.push_back({unknown_, static_cast<uint32_t>(word.size())});
    return;
  }
  size_t at = 0;
  while (at < word.size()) {
    uint32_t node = at == 0 ? 0 : continuation_;
    WordPieceMatch longest = {-1, 0};
    for (size_t i = at; i < word.size() && node != kNowhere; ++i) {
      node = child(node, word[i]);
      if (node != kNowhere && nodes_[node].id >= 0)
        longest = {nodes_[node].id, static_cast<uint32_t>(i + 1)};
    }
    if (longest.id < 0) {
      out.assign(1, {unknown_, static_cast<uint32_t>(word.size())});
      return;
    }
    out.push_back(longest);
    at = longest.end;
  }
}

}  // namespace bertrain
