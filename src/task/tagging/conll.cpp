// Lines of columns to sentences and back.
#include "task/tagging/conll.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace bertrain {
namespace {

constexpr std::string_view kBlanks = " \t\r\v\f", kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kDocument = "-DOCSTART-";
// Lines without a word that are held for the next sentence; more are given without one.
constexpr size_t kMostHeld = size_t{1} << 16;

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  if (line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  for (size_t begin = 0; (begin = line.find_first_not_of(kBlanks, begin)) != line.npos;) {
    size_t end = std::min(line.find_first_of(kBlanks, begin), line.size());
    fields.push_back(line.substr(begin, end - begin));
    begin = end;
  }
  return fields;
}

bool is_blank(std::string_view line) {
  if (line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  return strip(line)
      .empty();  // blanks of all scripts: what is typed as an empty line looks like one
}

bool is_comment_like(const std::vector<std::string_view>& fields) { return fields.front() == "#"; }

}  // namespace

ConllReader::ConllReader(const std::string& uri, const ConllColumns& columns, InvalidUtf8 invalid)
    : uri_(uri), options_(columns), invalid_(invalid) {
  if (columns.word < 1) {
    throw usage_error("--word_column={}: the number of a column, from 1, expected", columns.word);
  }
  if (columns.tag < 0) {
    throw usage_error(
        "--tag_column={}: the number of a column, from 1, or 0 for the last, expected",
        columns.tag);
  }
  if (columns.tag == columns.word) {
    throw usage_error("--tag_column={}: that is the word's column too", columns.tag);
  }
  lines_ = read_lines(uri);
}

bool ConllReader::read_line(std::string& line) {
  if (waiting_) {
    line = *std::exchange(waiting_, std::nullopt);
    return true;
  }
  if (!lines_->next(line)) return false;
  number_ = lines_->line_number();
  // The column separators and what follows are bytes of ASCII, so a repair moves no column.
  repaired_ += repair_utf8(line, invalid_, fmt::format("{}:{}", uri_, number_));
  return true;
}

void ConllReader::learn_columns(size_t found) {
  auto word = static_cast<size_t>(options_.word), tag = static_cast<size_t>(options_.tag);
  auto fail = [&](size_t wanted, std::string_view which) {
    throw error("{}:{}: {} columns or more expected, {} found: column {} is the {}", uri_, number_,
                wanted, found, wanted, which);
  };
  bool tagged = !options_.tags_optional ||
                (options_.trained > 0 ? found == static_cast<size_t>(options_.trained) : found > 1);
  if (tagged && tag == 0 && found < 2) {
    throw error("{}:{}: 2 columns or more expected, the word's and behind it the tag's, {} found",
                uri_, number_, found);
  }
  // A single column can only be the words.
  if (!tagged && found == 1) word = 1;
  if (word > found) fail(word, "word");
  if (tagged && tag > found) fail(tag, "tag");
  if (tagged && tag == 0 && word == found) {
    throw usage_error(
        "--word_column={}: {}:{} has {} columns, and the last one is the tag; --tag_column names "
        "another",
        word, uri_, number_, found);
  }
  width_ = found;
  word_ = word - 1;
  if (tagged) tag_ = (tag == 0 ? found : tag) - 1;
}

bool ConllReader::is_word(const Fields& fields) const {
  if (width_ == 0 || fields.size() != width_) return false;
  if (!tag_) return true;
  std::string_view tag = fields[*tag_];
  return tag == "O" || (tag.size() > 2 && tag[1] == '-' && tag[0] >= 'A' && tag[0] <= 'Z');
}

void ConllReader::add_word(ConllSentence& sentence, const Fields& fields, uint64_t number) const {
  if (fields.size() != width_) {
    throw error("{}:{}: {} column{} expected, as in the lines before, {} found", uri_, number,
                width_, width_ == 1 ? "" : "s", fields.size());
  }
  if (sentence.words.size() == kMostSentenceWords) {
    throw error(
        "{}:{}: a sentence of more than {} words; a blank line is expected behind each sentence",
        uri_, number, kMostSentenceWords);
  }
  sentence.word_lines.push_back(static_cast<int64_t>(number - sentence.first_line));
  sentence.words.emplace_back(fields[word_]);
  if (tag_) sentence.tags.emplace_back(fields[*tag_]);
}

// The first word tells how many columns there are, and so which of the lines before it, from `first`
// on, only looked like comments.
void ConllReader::recall_words(ConllSentence& sentence, size_t first) const {
  for (size_t i = first; i < sentence.lines.size(); ++i) {
    Fields fields = fields_of(sentence.lines[i]);
    if (is_word(fields)) add_word(sentence, fields, sentence.first_line + i);
  }
}

bool ConllReader::next(ConllSentence& sentence) {
  sentence = {};
  size_t comments = 0;  // where those before the sentence's first word begin
  for (std::string line; read_line(line);) {
    if (sentence.lines.empty()) sentence.first_line = number_;
    bool begun = !sentence.words.empty(), blank = is_blank(line);
    Fields fields = blank ? Fields() : fields_of(line);
    bool document = !blank && fields.front() == kDocument;
    if (document && begun) {
      waiting_ = std::move(line);
      return true;
    }
    if (blank || document) {
      sentence.lines.push_back(std::move(line));
      comments = sentence.lines.size();
      if (begun || comments >= kMostHeld) return true;
      continue;
    }
    if (begun || !is_comment_like(fields) || is_word(fields)) {
      if (width_ == 0) {
        learn_columns(fields.size());
        recall_words(sentence, comments);
      }
      add_word(sentence, fields, number_);
    }
    sentence.lines.push_back(std::move(line));
  }
  return !sentence.lines.empty();
}

std::string tagged_lines(const std::vector<std::string>& lines,
                         const std::vector<int64_t>& word_lines, std::optional<size_t> tag_column,
                         const std::vector<std::string>& tags) {
  check(word_lines.size() == tags.size(), "one tag a word");
  std::string text;
  size_t word = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    if (word == tags.size() || word_lines[word] != static_cast<int64_t>(i)) {
      text += line + "\n";
      continue;
    }
    const std::string& tag = tags[word++];
    std::vector<std::string_view> fields = fields_of(line);
    std::string_view last = tag_column ? fields.at(*tag_column) : fields.back();
    auto begin = static_cast<size_t>(last.data() - line.data()), end = begin + last.size();
    if (tag_column) {
      text += line.substr(0, begin) + tag;
    } else {
      text += line.substr(0, end) + (line.find('\t') == line.npos ? " " : "\t") + tag;
    }
    text += line.substr(end) + "\n";
  }
  return text;
}

}  // namespace bertrain
