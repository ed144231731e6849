// Reading with every value checked, and writing what transformers reads back.
#include "text/byte_bpe_files.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/checked_json.h"
#include "base/error.h"
#include "storage/storage.h"
#include "text/unicode.h"

namespace bertrain {
namespace {

constexpr std::string_view kTokenizer = "tokenizer.json", kVocabulary = "vocab.json",
                           kMerges = "merges.txt", kAdded = "added_tokens.json",
                           kConfig = "tokenizer_config.json",
                           kSpecialMap = "special_tokens_map.json";
constexpr uint64_t kMaxBytes = 64 << 20;  // real ones have 1 to 10 MiB

struct Role {
  const char* name;
  std::string_view token;
};
constexpr Role kRoles[] = {
    {"bos_token", kRobertaSpecials.classify}, {"eos_token", kRobertaSpecials.separate},
    {"unk_token", kRobertaSpecials.unknown},  {"sep_token", kRobertaSpecials.separate},
    {"pad_token", kRobertaSpecials.pad},      {"cls_token", kRobertaSpecials.classify},
    {"mask_token", kRobertaSpecials.mask}};

// Those of a model are special even where the file that adds them does not say so.
bool is_special(std::string_view token) {
  return std::any_of(std::begin(kRoles), std::end(kRoles),
                     [&](const Role& role) { return role.token == token; });
}

class Reader {
 public:
  explicit Reader(std::string_view folder) : folder_(folder) {}

  ByteBpeModel read() {
    read_config();
    if (std::string file = at(kTokenizer); exists(file)) {
      read_tokenizer(file);
    } else {
      read_two_files();
    }
    require_made();
    return {Vocabulary(numbered(), vocabulary_file_), finished()};
  }

 private:
  std::string at(std::string_view name) const { return join_path(folder_, name); }

  // --- the vocabulary: {token: id} ---

  void take_vocabulary(const LargeJson& ids, const std::string& file, std::string_view key) {
    vocabulary_file_ = file;
    if (!ids.is_object() || ids.empty()) {
      throw error("{}: {}an object of pieces and their ids expected", file, key);
    }
    for (const auto& [token, id] : ids.items()) take_id(token, id, file, key, ids.size());
  }

  void take_id(const std::string& token, const LargeJson& id, const std::string& file,
               std::string_view key, size_t pieces) {
    // Ids are places in a table: one beyond all pieces is damage, and would be allocated. Added tokens
    // come behind the others.
    int64_t most = static_cast<int64_t>(pieces) + kMostGaps;
    if (!id.is_number_integer() || id.get<int64_t>() < 0 || id.get<int64_t>() >= most) {
      throw error("{}: {}\"{}\" is {}; an id from 0 to {} expected", file, key, token, id.dump(),
                  most - 1);
    }
    auto number = static_cast<int32_t>(id.get<int64_t>());
    auto [known, is_new] = ids_.emplace(token, number);
    if (!is_new && known->second != number) {
      throw error("{}: {}\"{}\" has the id {} and the id {}", file, key, token, known->second,
                  number);
    }
  }
  static constexpr int64_t kMostGaps = 1 << 20;

  // The tokens by id, each id once.
  std::vector<std::string> numbered() const {
    std::vector<std::string> tokens(ids_.size());
    std::vector<bool> seen(ids_.size());
    for (const auto& [token, id] : ids_) {
      auto place = static_cast<size_t>(id);
      if (place >= tokens.size() || seen[place]) continue;  // so that another one is missing
      tokens[place] = token;
      seen[place] = true;
    }
    auto gap = std::find(seen.begin(), seen.end(), false);
    if (gap != seen.end()) {
      throw error("{}: {} pieces, but none has the id {}; each id from 0 on expected, once",
                  vocabulary_file_, tokens.size(), gap - seen.begin());
    }
    return tokens;
  }

  // --- merges ---

  void take_merge(std::string_view left, std::string_view right, const std::string& place) {
    auto id_of = [&](const std::string& token) {
      auto found = ids_.find(token);
      if (found == ids_.end()) {
        throw error("{}: the merge \"{} {}\" needs the piece \"{}\", which {} has not", place, left,
                    right, token, vocabulary_file_);
      }
      return found->second;
    };
    std::string a(left), b(right);
    rules_.merges.push_back({id_of(a), id_of(b), id_of(a + b)});
  }

  // Pieces of several bytes come from merges. RoBERTa's own vocabulary has three that do not
  // ("madeupword0000" …); of a list that was cut off there are many, and words would be cut into bytes.
  static constexpr size_t kMostUnmade = 8;
  void require_made() const {
    std::unordered_set<std::string_view> added;
    for (const AddedToken& token : rules_.added) added.insert(token.text);
    std::unordered_set<int32_t> made;
    for (const ByteBpeMerge& merge : rules_.merges) made.insert(merge.result);
    size_t unmade = 0;
    std::string_view first;
    for (const auto& [token, id] : ids_) {
      bool one = std::count_if(token.begin(), token.end(), [](char c) {
                   return (static_cast<unsigned char>(c) & 0xC0) != 0x80;  // starts a character
                 }) <= 1;
      if (one || added.contains(token) || is_special(token) || made.contains(id)) continue;
      if (unmade++ == 0 || token < first) first = token;
    }
    if (unmade <= kMostUnmade) return;
    throw error(
        "{}: {} of {} pieces are made by none of its {} merges (\"{}\" is one): merges are "
        "missing, or of another vocabulary",
        vocabulary_file_, unmade, ids_.size(), rules_.merges.size(), first);
  }

  // "left right", one a line, below "#version: 0.2".
  void read_merges(const std::string& file) {
    std::string content = read_file_up_to(file, kMaxBytes);
    std::string_view text = content;
    if (std::optional<size_t> bad = find_invalid_utf8(text)) {
      throw error("{}: not UTF-8 at byte {}", file, *bad);
    }
    for (size_t number = 1; !text.empty(); ++number) {
      size_t end = std::min(text.find('\n'), text.size());
      std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line.empty() || line.starts_with("#version")) continue;
      size_t blank = line.find(' ');
      bool two = blank != line.npos && blank > 0 && blank + 1 < line.size() &&
                 line.find(' ', blank + 1) == line.npos;
      std::string place = fmt::format("{}:{}", file, number);
      if (!two) throw error("{}: \"{}\"; two pieces with a blank between expected", place, line);
      take_merge(line.substr(0, blank), line.substr(blank + 1), place);
    }
  }

  void take_merges(const LargeJson& merges, const std::string& file) {
    if (!merges.is_array()) throw error("{}: model.merges is no list", file);
    for (size_t i = 0; i < merges.size(); ++i) {
      const LargeJson& merge = merges[i];
      auto place = [&] { return fmt::format("{}: model.merges.{}", file, i); };
      if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
        take_merge(merge[0].get_ref<const std::string&>(), merge[1].get_ref<const std::string&>(),
                   place());
        continue;
      }
      std::string_view pair;
      if (merge.is_string()) pair = merge.get_ref<const std::string&>();
      size_t blank = pair.find(' ');
      if (blank == pair.npos || pair.find(' ', blank + 1) != pair.npos) {
        throw error("{} is {}; two pieces expected", place(), merge.dump());
      }
      take_merge(pair.substr(0, blank), pair.substr(blank + 1), place());
    }
  }

  // --- added tokens: the later word counts ---

  void take_added(const JsonValue& token, int64_t id) {
    AddedToken added;
    added.text = token.at("content").text();
    added.id = static_cast<int32_t>(id);
    auto flag = [&](const char* key) {
      std::optional<JsonValue> found = token.find(key);
      return found && found->truth();
    };
    if (flag("single_word")) {
      token.at("single_word").fail("false, as added tokens are found everywhere here,");
    }
    added.special = flag("special") || is_special(added.text);
    added.strip_left = flag("lstrip"), added.strip_right = flag("rstrip");
    added.normalized = flag("normalized");
    if (added.text.empty()) token.at("content").fail("a token");
    put_added(std::move(added));
  }

  void put_added(AddedToken token) {
    auto same = std::find_if(rules_.added.begin(), rules_.added.end(),
                             [&](const AddedToken& a) { return a.text == token.text; });
    if (same == rules_.added.end()) {
      rules_.added.push_back(std::move(token));
    } else {
      *same = std::move(token);
    }
  }

  // --- the files ---

  void read_config() {
    std::string file = at(kConfig);
    if (!exists(file)) return;
    config_ = parse_json(read_file_up_to(file, kMaxBytes), file);
    JsonValue config(config_, file);
    config.require_object();
    if (auto value = config.find("add_prefix_space"); value && !value->is_null()) {
      add_prefix_space_ = value->truth();
    }
    if (auto value = config.find("trim_offsets"); value && !value->is_null()) {
      rules_.trim_offsets = value->truth();
    }
  }

  // A part of tokenizer.json that may only be one thing.
  static void require_type(const JsonValue& json, const char* key, const char* type, bool needed) {
    std::optional<JsonValue> part = json.find(key);
    if (!part || part->is_null()) {
      if (needed) json.fail(fmt::format("a {} of type {}", key, type));
      return;
    }
    JsonValue found = part->at("type");
    if (found.text() != type) {
      found.fail(fmt::format("\"{}\", as this program knows no other {} of RoBERTa,", type, key));
    }
  }

  void read_tokenizer(const std::string& file) {
    LargeJson all = parse_large_json(read_file_up_to(file, kMaxBytes), file);
    if (!all.is_object() || !all.contains("model") || !all["model"].is_object()) {
      throw error("{}: no tokenizer is in it: an object with the key model expected", file);
    }
    LargeJson vocabulary, merges;
    vocabulary.swap(all["model"]["vocab"]);
    merges.swap(all["model"]["merges"]);
    Json rest = all;
    JsonValue json(rest, file);
    if (auto normalizer = json.find("normalizer"); normalizer && !normalizer->is_null()) {
      normalizer->fail("null, as RoBERTa leaves texts as they are,");
    }
    require_type(json, "pre_tokenizer", "ByteLevel", true);
    require_type(json, "post_processor", "RobertaProcessing", false);
    JsonValue splitter = json.at("pre_tokenizer"), model = json.at("model");
    if (auto type = model.find("type"); type && type->text() != "BPE") type->fail("\"BPE\"");
    if (auto regex = splitter.find("use_regex"); regex && !regex->truth()) regex->fail("true");
    for (const char* key : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"}) {
      auto value = model.find(key);
      if (!value || value->is_null() || value->json() == "") continue;
      value->fail("null, as RoBERTa has none,");
    }
    for (const char* key : {"byte_fallback", "ignore_merges"}) {
      if (auto value = model.find(key); value && value->truth()) value->fail("false");
    }
    if (auto space = splitter.find("add_prefix_space")) rules_.add_prefix_space = space->truth();
    take_vocabulary(vocabulary, file, "model.vocab: ");
    size_t pieces = ids_.size();
    if (auto added = json.find("added_tokens"); added && !added->is_null()) {
      for (const JsonValue& token : added->items()) {
        int64_t id = token.at("id").integer(0, std::numeric_limits<int32_t>::max());
        take_added(token, id);
        take_id(token.at("content").text(), id, file, "added_tokens: ", pieces);
      }
    }
    take_merges(merges, file);
  }

  void read_two_files() {
    std::string vocabulary = at(kVocabulary), merges = at(kMerges), added = at(kAdded);
    for (const std::string& file : {vocabulary, merges}) {
      if (exists(file)) continue;
      throw error("{}: not there; a RoBERTa needs tokenizer.json, or vocab.json and merges.txt",
                  file);
    }
    take_vocabulary(parse_large_json(read_file_up_to(vocabulary, kMaxBytes), vocabulary),
                    vocabulary, "");
    size_t pieces = ids_.size();
    for (const Role& role : kRoles) {
      auto id = ids_.find(std::string(role.token));
      if (id == ids_.end()) continue;
      // The mask stands for a word, which has its blank with it.
      bool mask = role.token == kRobertaSpecials.mask;
      put_added({.id = id->second,
                 .text = id->first,
                 .special = true,
                 .strip_left = mask,
                 .strip_right = false,
                 .normalized = false});
    }
    if (exists(added)) {
      LargeJson tokens = parse_large_json(read_file_up_to(added, kMaxBytes), added);
      if (!tokens.is_object()) throw error("{}: an object of tokens and their ids expected", added);
      for (const auto& [token, id] : tokens.items()) {
        take_id(token, id, added, "", pieces);
        if (token.empty() || is_special(token)) continue;
        put_added({.id = ids_.at(token),
                   .text = token,
                   .special = false,
                   .strip_left = false,
                   .strip_right = false,
                   .normalized = true});
      }
    }
    JsonValue config(config_, at(kConfig));
    if (auto decoder = config_.is_null() ? std::nullopt : config.find("added_tokens_decoder")) {
      decoder->require_object();
      for (const auto& [id, token] : decoder->json().items()) {
        JsonValue value = decoder->at(id);
        auto known = ids_.find(value.at("content").text());
        if (known == ids_.end() || std::to_string(known->second) != id) {
          value.fail(fmt::format("a token with the id {} in {}", id, vocabulary));
        }
        take_added(value, known->second);
      }
    }
    read_merges(merges);
  }

  ByteBpeRules finished() {
    if (add_prefix_space_) rules_.add_prefix_space = *add_prefix_space_;
    std::sort(rules_.added.begin(), rules_.added.end(),
              [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
    return std::move(rules_);
  }

  std::string folder_, vocabulary_file_;
  Json config_;
  std::optional<bool> add_prefix_space_;  // the configuration's word counts
  std::unordered_map<std::string, int32_t> ids_;
  ByteBpeRules rules_;
};

Json flags_of(const AddedToken& token) {
  return {{"content", token.text},          {"single_word", false},
          {"lstrip", token.strip_left},     {"rstrip", token.strip_right},
          {"normalized", token.normalized}, {"special", token.special}};
}

// Past the object's own insertion, which searches all that is there for the name.
void push(Json& object, std::string key, Json value) {
  object.get_ref<Json::object_t&>().push_back({std::move(key), std::move(value)});
}

}  // namespace

ByteBpeModel read_byte_bpe(std::string_view folder) { return Reader(folder).read(); }

std::vector<std::pair<std::string, std::string>> byte_bpe_files(const Tokenizer& tokenizer,
                                                                int64_t max_length) {
  check(tokenizer.byte_bpe() != nullptr, "these are files of byte-level BPE");
  const ByteBpeRules& rules = *tokenizer.byte_bpe();
  const Vocabulary& vocabulary = tokenizer.vocabulary();
  bool special = tokenizer.options().special_tokens_in_text;

  Json ids = Json::object(), merges = Json::array(), added = Json::array();
  for (size_t i = 0; i < vocabulary.size(); ++i) push(ids, vocabulary.tokens()[i], i);
  std::string lines = "#version: 0.2\n";
  for (const ByteBpeMerge& merge : rules.merges) {
    const std::string &left = vocabulary.token(merge.left), &right = vocabulary.token(merge.right);
    merges.push_back({left, right});
    lines += left + " " + right + "\n";
  }
  Json config = {
      {"tokenizer_class", "RobertaTokenizer"}, {"add_prefix_space", rules.add_prefix_space},
      {"trim_offsets", rules.trim_offsets},    {"special_tokens_in_text", special},
      {"split_special_tokens", !special},  // the same to transformers
      {"model_max_length", max_length}};
  Json decoder = Json::object(), map = Json::object();
  for (const AddedToken& token : rules.added) {
    Json flags = flags_of(token);
    push(decoder, std::to_string(token.id), flags);
    Json with_id = {{"id", token.id}};
    with_id.update(flags);
    added.push_back(std::move(with_id));
  }
  for (const Role& role : kRoles) {
    auto token = std::find_if(rules.added.begin(), rules.added.end(),
                              [&](const AddedToken& a) { return a.text == role.token; });
    // By name, or the flags of this one would be lost on the way back.
    Json named =
        token != rules.added.end() && token->strip_left ? flags_of(*token) : Json(role.token);
    if (named.is_object()) named["__type"] = "AddedToken";
    config[role.name] = std::move(named);
    map[role.name] = role.token;
  }
  config["added_tokens_decoder"] = std::move(decoder);

  Json splitter = {{"type", "ByteLevel"},
                   {"add_prefix_space", rules.add_prefix_space},
                   {"trim_offsets", rules.trim_offsets},
                   {"use_regex", true}};
  auto end = [&](std::string_view token) { return Json::array({token, vocabulary.id(token)}); };
  Json all = {{"version", "1.0"},
              {"truncation", nullptr},
              {"padding", nullptr},
              {"added_tokens", std::move(added)},
              {"normalizer", nullptr},
              {"pre_tokenizer", splitter},
              {"post_processor",
               {{"type", "RobertaProcessing"},
                {"sep", end(kRobertaSpecials.separate)},
                {"cls", end(kRobertaSpecials.classify)},
                {"trim_offsets", rules.trim_offsets},
                {"add_prefix_space", rules.add_prefix_space}}},
              {"decoder", splitter},
              {"model",
               {{"type", "BPE"},
                {"dropout", nullptr},
                {"unk_token", nullptr},
                {"continuing_subword_prefix", ""},
                {"end_of_word_suffix", ""},
                {"fuse_unk", false},
                {"byte_fallback", false},
                {"vocab", ids},
                {"merges", std::move(merges)}}}};
  auto text = [](const Json& json) { return json.dump(2) + "\n"; };
  return {{std::string(kTokenizer), text(all)},
          {std::string(kVocabulary), text(ids)},
          {std::string(kMerges), std::move(lines)},
          {std::string(kConfig), text(config)},
          {std::string(kSpecialMap), text(map)}};
}

}  // namespace bertrain
