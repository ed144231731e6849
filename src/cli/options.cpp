// Option parsing over the visitor.
#include "cli/options.h"

#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ostream>
#include <variant>

#include "base/error.h"
#include "cli/command.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

using Field = std::variant<std::string*, int64_t*, double*, bool*, std::optional<bool>*>;

struct Slot {
  std::string name;  // with `_`, whatever the struct says
  Field field;
  std::string help;
};

std::string with_underscores(std::string_view name) {
  std::string result(name);
  std::replace(result.begin(), result.end(), '-', '_');
  return result;
}

class Collector : public OptionVisitor {
 public:
  void operator()(std::string_view n, std::string& v, std::string_view h) override {
    add(n, &v, h);
  }
  void operator()(std::string_view n, int64_t& v, std::string_view h) override { add(n, &v, h); }
  void operator()(std::string_view n, double& v, std::string_view h) override { add(n, &v, h); }
  void operator()(std::string_view n, bool& v, std::string_view h) override { add(n, &v, h); }
  void operator()(std::string_view n, std::optional<bool>& v, std::string_view h) override {
    add(n, &v, h);
  }
  std::vector<Slot> slots;

 private:
  void add(std::string_view name, Field field, std::string_view help) {
    slots.push_back({with_underscores(name), field, std::string(help)});
  }
};

std::vector<Slot> collect(const EachOption& each) {
  Collector collector;
  each(collector);
  return std::move(collector.slots);
}

const Slot* find(const std::vector<Slot>& slots, std::string_view name) {
  for (const Slot& s : slots) {
    if (s.name == name) return &s;
  }
  return nullptr;
}

std::string near_option(const std::vector<Slot>& slots, std::string_view name) {
  std::vector<std::string> names = {"config", "help"};
  for (const Slot& s : slots) names.push_back(s.name);
  std::string near = nearest(name, names);
  // What other commands call a file that this one reads.
  if (near.empty() && name.ends_with("_file") && find(slots, "input_file")) near = "input_file";
  return near.empty() ? "--help lists them" : "did you mean --" + near + "?";
}

bool is_bool(const Slot& slot) {
  return std::holds_alternative<bool*>(slot.field) ||
         std::holds_alternative<std::optional<bool>*>(slot.field);
}

// The whole text must be one number; a leading + is allowed, as Python's int and float do.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  Number value{};
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<bool> parse_bool(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  if (lower == "true" || lower == "t" || lower == "1") return true;
  if (lower == "false" || lower == "f" || lower == "0") return false;
  return std::nullopt;
}

template <class Into, class Value>
void put(Into& into, std::optional<Value> value, const Slot& slot, std::string_view text,
         std::string_view expected) {
  if (!value) throw usage_error("--{}={}: {} expected", slot.name, text, expected);
  into = *value;
}

void assign(const Slot& slot, std::string_view text) {
  if (auto* s = std::get_if<std::string*>(&slot.field)) {
    **s = text;
  } else if (auto* i = std::get_if<int64_t*>(&slot.field)) {
    put(**i, parse_number<int64_t>(text), slot, text, "a whole number");
  } else if (auto* d = std::get_if<double*>(&slot.field)) {
    std::optional<double> value = parse_number<double>(text);
    if (value && !std::isfinite(*value)) value.reset();
    put(**d, value, slot, text, "a finite number");
  } else if (auto* b = std::get_if<bool*>(&slot.field)) {
    put(**b, parse_bool(text), slot, text, "true or false");
  } else {
    put(*std::get<std::optional<bool>*>(slot.field), parse_bool(text), slot, text, "true or false");
  }
}

// A list of strings in the file stands for the comma list that the flag takes.
std::string comma_list(const toml::array& array, std::string_view place) {
  std::string joined;
  for (const toml::node& node : array) {
    const auto* text = node.as_string();
    if (!text) throw usage_error("{}: a list of strings expected", place);
    joined += (joined.empty() ? "" : ",") + text->get();
  }
  return joined;
}

void assign(const Slot& slot, const toml::node& node, const std::string& place) {
  std::string_view expected;
  if (auto* s = std::get_if<std::string*>(&slot.field)) {
    if (const auto* array = node.as_array()) {
      **s = comma_list(*array, place);
      return;
    }
    if (const auto* text = node.as_string()) {
      **s = text->get();
      return;
    }
    expected = "a string";
  } else if (auto* i = std::get_if<int64_t*>(&slot.field)) {
    if (const auto* whole = node.as_integer()) {
      **i = whole->get();
      return;
    }
    expected = "a whole number";
  } else if (auto* d = std::get_if<double*>(&slot.field)) {
    std::optional<double> number = node.value<double>();
    if (node.is_number() && number && std::isfinite(*number)) {
      **d = *number;
      return;
    }
    expected = "a finite number";
  } else {
    if (const auto* truth = node.as_boolean()) {
      if (auto* b = std::get_if<bool*>(&slot.field)) {
        **b = truth->get();
      } else {
        *std::get<std::optional<bool>*>(slot.field) = truth->get();
      }
      return;
    }
    expected = "true or false";
  }
  throw usage_error("{}: {} expected", place, expected);
}

std::string read_config(const std::string& path) {
  try {
    return read_text(path);
  } catch (const Error& e) {
    throw usage_error("--config={}: {}", path, e.what());
  }
}

void read_options_file(const std::string& path, const std::vector<Slot>& slots) {
  toml::table table;
  try {
    table = toml::parse(read_config(path), path);
  } catch (const toml::parse_error& e) {
    throw usage_error("{}:{}: {}", path, e.source().begin.line, e.description());
  }
  for (const auto& [key, node] : table) {
    std::string place = fmt::format("{}:{}: {}", path, node.source().begin.line, key.str());
    if (node.is_table()) {
      throw usage_error("{}: options stand at the top level of the file, not in a table", place);
    }
    const Slot* slot = find(slots, with_underscores(key.str()));
    if (!slot) {
      throw usage_error("{}: no such option; {}", place,
                        near_option(slots, with_underscores(key.str())));
    }
    assign(*slot, node, place);
  }
}

bool is_option(std::string_view arg) { return arg.size() > 1 && arg[0] == '-'; }

// One pass over the arguments. In the first pass `config_only` is set: only --config is acted on,
// so that the file is read before any other argument counts.
class Parser {
 public:
  Parser(std::span<const std::string_view> args, const std::vector<Slot>& slots, bool config_only)
      : args_(args), slots_(slots), config_only_(config_only) {}

  std::vector<std::string> run() {
    while (at_ < args_.size()) {
      std::string_view arg = args_[at_++];
      if (arg == "--") {
        positional_.insert(positional_.end(), args_.begin() + static_cast<ptrdiff_t>(at_),
                           args_.end());
        break;
      }
      if (is_option(arg)) {
        option(arg);
      } else {
        positional_.emplace_back(arg);
      }
    }
    return std::move(positional_);
  }

 private:
  void option(std::string_view arg) {
    std::string_view body = arg.substr(arg[1] == '-' ? 2 : 1);
    size_t equals = body.find('=');
    std::string name = with_underscores(body.substr(0, equals));
    std::optional<std::string_view> value;
    if (equals != std::string_view::npos) value = body.substr(equals + 1);

    if (name == "help" && value) throw usage_error("--help takes no value");
    if (name == "config") {
      std::string path(value ? *value : following(name));
      if (config_only_) read_options_file(path, slots_);
      return;
    }
    const Slot* slot = find(slots_, name);
    if (!slot && name.starts_with("no")) {
      const Slot* negated = find(slots_, name.substr(2));
      if (negated && is_bool(*negated)) {
        if (value) throw usage_error("--{} takes no value", name);
        if (!config_only_) assign(*negated, "false");
        return;
      }
    }
    if (!slot)
      throw usage_error("no option {}; {}", arg.substr(0, arg.find('=')),
                        near_option(slots_, name));
    // As in absl, a bare boolean never takes the next argument: `--do_train x` leaves x positional.
    if (!value) value = is_bool(*slot) ? "true" : following(name);
    if (!config_only_) assign(*slot, *value);
  }

  std::string_view following(std::string_view name) {
    if (at_ == args_.size()) throw usage_error("--{} needs a value", name);
    return args_[at_++];
  }

  std::span<const std::string_view> args_;
  const std::vector<Slot>& slots_;
  bool config_only_;
  size_t at_ = 0;
  std::vector<std::string> positional_;
};

template <class Value>
Json json_of(const Value& value) {
  return value;
}
Json json_of(const std::optional<bool>& value) { return value ? Json(*value) : Json(nullptr); }

Json value_of(const Slot& slot) {
  return std::visit([](auto* value) { return json_of(*value); }, slot.field);
}

std::string default_of(const Slot& slot) {
  if (auto* text = std::get_if<std::string*>(&slot.field)) return **text;
  if (auto* number = std::get_if<double*>(&slot.field)) return fmt::format("{}", **number);
  Json value = value_of(slot);
  return value.is_null() ? "" : value.dump();
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t corner = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, corner + (a[i - 1] != b[j - 1])});
      corner = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string> parse_options(std::span<const std::string_view> args,
                                       const EachOption& each) {
  std::vector<Slot> slots = collect(each);
  Parser(args, slots, true).run();
  return Parser(args, slots, false).run();
}

void parse_only_options(std::span<const std::string_view> args, const EachOption& each) {
  std::vector<std::string> positional = parse_options(args, each);
  if (positional.empty()) return;
  throw usage_error("stray argument '{}': options are written --name=value; --help lists them",
                    positional[0]);
}

void require_between(std::string_view name, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return;
  if (value < least) throw usage_error("--{}={}: {} or more expected", name, value, least);
  throw usage_error("--{}={}: {} to {} expected", name, value, least, most);
}

std::string describe_options(const EachOption& each) {
  std::string text;
  for (const Slot& slot : collect(each)) {
    std::string flag = fmt::format("  --{}={}", slot.name, default_of(slot));
    // A long flag has its help on the next line, so that the column of help texts stays straight.
    if (flag.size() > 34) flag += fmt::format("\n{:34}", "");
    text += fmt::format("{:<34}  {}\n", flag, slot.help);
  }
  text +=
      fmt::format("{:<34}  {}\n", "  --config=", "TOML file of options (name = value), read first");
  return text;
}

Json options_to_json(const EachOption& each) {
  Json json = Json::object();
  for (const Slot& slot : collect(each)) json[slot.name] = value_of(slot);
  return json;
}

std::string nearest(std::string_view name, const std::vector<std::string>& names) {
  std::string best;
  size_t distance = std::max<size_t>(2, name.size() / 3) + 1;
  for (const std::string& candidate : names) {
    size_t d = edit_distance(name, candidate);
    if (d < distance) distance = d, best = candidate;
  }
  return best;
}

bool wants_help(std::span<const std::string_view> args) {
  for (std::string_view arg : args) {
    if (arg == "--") return false;
    if (arg == "--help" || arg == "-help" || arg == "-h") return true;
  }
  return false;
}

void print_help(const Command& command, const EachOption& each, std::ostream& out) {
  out << fmt::format("bertrain {}: {}\n\nexamples:\n", command.name, command.summary);
  std::string_view rest = command.example;
  while (!rest.empty()) {
    size_t end = std::min(rest.find('\n'), rest.size());
    out << "  " << rest.substr(0, end) << "\n";
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  out << "\noptions, with their defaults (booleans: --name, --noname):\n" << describe_options(each);
}

}  // namespace bertrain
