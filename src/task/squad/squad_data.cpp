// Words of a context, and the walk over data → paragraphs → qas with every value checked.
#include "task/squad/squad_data.h"

#include <algorithm>
#include <unordered_set>

#include "base/checked_json.h"
#include "base/error.h"
#include "base/log.h"
#include "base/quote.h"
#include "storage/storage.h"
#include "text/unicode.h"

namespace bertrain {
namespace {

// SQuAD 2.0's training file has 42 MB. The bound keeps places in 32 bits.
constexpr uint64_t kMostBytes = uint64_t{1} << 30;

// Bytes of the blank that a text starts with, 0: none. U+202F is the only one beyond ASCII.
size_t blank_bytes(std::string_view text) {
  char c = text.front();
  if (c == ' ' || c == '\t' || c == '\r' || c == '\n') return 1;
  return text.starts_with("\xe2\x80\xaf") ? 3 : 0;
}

// Cut at Python's blanks and joined by one: what the reference looks for in the context.
std::string cleaned(std::string_view text) {
  std::string out;
  bool gap = false;
  while (!text.empty()) {
    Decoded d = decode_utf8(text);
    if (character(d.code_point).flags & kPythonSpace) {
      gap = !out.empty();
    } else {
      if (gap) out += ' ';
      gap = false;
      out += text.substr(0, d.bytes);
    }
    text.remove_prefix(d.bytes);
  }
  return out;
}

class SquadParser {
 public:
  SquadParser(std::string_view name, SquadUse use) : use_(use) { data_.name = name; }

  SquadData parse(std::string_view json) {
    Json tree = parse_json(json, data_.name);
    JsonValue root(tree, data_.name);
    if (auto version = root.find("version"); version && version->json().is_string()) {
      data_.version = version->text();
    }
    for (const JsonValue& article : root.at("data").items()) {
      for (const JsonValue& paragraph : article.at("paragraphs").items()) add(paragraph);
    }
    if (data_.questions.empty() && use_ != SquadUse::prediction) refuse_empty();
    report();
    return std::move(data_);
  }

 private:
  [[noreturn]] void refuse_empty() const {
    if (data_.not_found == 0) throw error("{}: there is no question in it", data_.name);
    throw error(
        "{}: none of its {} questions can be learned from, because no answer is where answer_start "
        "(in characters from 0) says in the context; the first is {}",
        data_.name, data_.not_found, missing_);
  }

  void add(const JsonValue& paragraph) {
    data_.contexts.emplace_back(paragraph.at("context").text());
    for (const JsonValue& qa : paragraph.at("qas").items()) {
      SquadQuestion question;
      question.id = qa.at("id").text();
      question.text = qa.at("question").text();
      question.context = static_cast<uint32_t>(data_.contexts.size() - 1);
      read_answers(paragraph, qa, question);
      if (use_ == SquadUse::training && !question.is_impossible && !locate(qa, question)) continue;
      if (!ids_.insert(question.id).second) note(repeated_, question.id);
      data_.impossible += question.is_impossible;
      data_.questions.push_back(std::move(question));
    }
  }

  void read_answers(const JsonValue& paragraph, const JsonValue& qa, SquadQuestion& question) {
    auto flag = qa.find("is_impossible");
    if (flag && !flag->is_null()) question.is_impossible = flag->truth();
    auto list = qa.find("answers");
    // A file for prediction may lack them; in training only an impossible question may.
    bool needed =
        use_ == SquadUse::scoring || (use_ == SquadUse::training && !question.is_impossible);
    if (!list && needed) qa.at("answers");  // throws
    if (!list || (list->is_null() && !needed)) return;
    std::vector<JsonValue> answers = list->items();
    if (needed && use_ == SquadUse::training && !answers.empty() &&
        data_.contexts.back().characters == 0) {
      paragraph.at("context").fail(
          fmt::format("a text that holds the answer to question {}", quote(question.id)));
    }
    for (const JsonValue& one : answers) {
      SquadAnswer answer{.text = one.at("text").text()};
      if (auto start = one.find("answer_start"); start && !start->is_null()) {
        if (use_ == SquadUse::training) {
          auto most = std::max<uint64_t>(data_.contexts.back().characters, 1) - 1;
          answer.start = start->integer(0, static_cast<int64_t>(most));
        } else if (start->json().is_number_integer()) {
          answer.start = start->integer(INT64_MIN, INT64_MAX);
        }
      }
      question.answers.push_back(std::move(answer));
    }
    if (!question.answers.empty()) return;
    if (flag && !flag->is_null() && !question.is_impossible) note(contradictory_, question.id);
    question.is_impossible = true;
  }

  // Finds the first answer's words; false: they are not what the answer says.
  bool locate(const JsonValue& qa, SquadQuestion& question) {
    const SquadContext& context = data_.contexts.back();
    const SquadAnswer& answer = question.answers.front();
    if (question.answers.size() > 1) {
      if (data_.several_answers++ == 0) several_ = question.id;
    }
    JsonValue first = qa.at("answers").items().front();
    if (answer.start < 0) first.at("answer_start").fail("a place in the context");
    uint64_t length = count_code_points(answer.text);
    auto start = static_cast<uint64_t>(answer.start);
    if (start + length > context.characters) {
      first.at("text").fail(
          fmt::format("a text that ends within the context, {} characters after "
                      "answer_start {}",
                      context.characters - start, start));
    }
    std::string wanted = cleaned(answer.text), found;
    if (!wanted.empty() && !context.words.empty()) {
      // An answer may begin with the blanks before the first word.
      question.first_word = std::max<int64_t>(context.word_at(start), 0);
      question.last_word = context.word_at(start + length - 1);
      if (question.last_word >= question.first_word) {
        found = context.joined(static_cast<size_t>(question.first_word),
                               static_cast<size_t>(question.last_word));
        if (found.find(wanted) != std::string::npos) return true;
      }
    }
    if (data_.not_found++ == 0) {
      missing_ = fmt::format("question {}: {} expected, {} there", quote(question.id),
                             quote(wanted), quote(found));
    }
    return false;
  }

  // Ids of which there may be many: how many, and the first.
  struct Noted {
    uint64_t count = 0;
    std::string first;
  };
  static void note(Noted& noted, const std::string& id) {
    if (noted.count++ == 0) noted.first = id;
  }

  void report() const {
    const std::string& file = data_.name;
    if (data_.not_found > 0) {
      log_warning(
          "{}: {} questions are left out, because their answer is not where answer_start says in "
          "the context; the first is {}",
          file, data_.not_found, missing_);
    }
    if (data_.several_answers > 0) {
      log_warning(
          "{}: {} questions have more than one answer, of which the first is learned; the "
          "first such question is {}",
          file, data_.several_answers, quote(several_));
    }
    if (contradictory_.count > 0) {
      log_warning(
          "{}: {} questions have no answer although is_impossible is false; they are taken "
          "as impossible, the first is {}",
          file, contradictory_.count, quote(contradictory_.first));
    }
    if (repeated_.count > 0) {
      log_warning(
          "{}: {} questions have the id of an earlier one, as {}; files of answers by id "
          "keep the last",
          file, repeated_.count, quote(repeated_.first));
    }
  }

  SquadUse use_;
  SquadData data_;
  std::unordered_set<std::string> ids_;
  Noted contradictory_, repeated_;
  std::string several_, missing_;
};

}  // namespace

SquadContext::SquadContext(std::string whole) : text(std::move(whole)) {
  bool in_word = false;
  for (size_t at = 0; at < text.size(); ++characters) {
    size_t blank = blank_bytes(std::string_view(text).substr(at));
    size_t bytes = blank > 0 ? blank : decode_utf8(std::string_view(text).substr(at)).bytes;
    if (blank == 0) {
      if (!in_word) {
        words.push_back({static_cast<uint32_t>(at), 0, static_cast<uint32_t>(characters)});
      }
      words.back().end = static_cast<uint32_t>(at + bytes);
    }
    in_word = blank == 0;
    at += bytes;
  }
}

std::string SquadContext::joined(size_t first, size_t last) const {
  std::string out;
  for (size_t i = first; i <= last; ++i) {
    if (i > first) out += ' ';
    out += word(i);
  }
  return out;
}

int64_t SquadContext::word_at(uint64_t character) const {
  auto after = std::upper_bound(words.begin(), words.end(), character,
                                [](uint64_t c, const Word& word) { return c < word.character; });
  return after - words.begin() - 1;
}

SquadData parse_squad(std::string_view json, std::string_view name, SquadUse use) {
  if (json.size() > kMostBytes) {
    throw error("{}: {} bytes, at most {} expected", name, json.size(), kMostBytes);
  }
  return SquadParser(name, use).parse(json);
}

SquadData read_squad(std::string_view uri, SquadUse use) {
  return parse_squad(read_text_up_to(uri, kMostBytes), uri, use);
}

}  // namespace bertrain
