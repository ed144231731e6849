// Written by hand and read as events, because a JSON tree in the order of its keys searches all of them for
// each.
#include "task/squad/answer_files.h"

#include <functional>

#include "base/checked_json.h"
#include "base/error.h"
#include "base/quote.h"
#include "storage/storage.h"
#include "task/squad/python_json.h"

namespace bertrain {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 30;

// {"id": VALUE, …} with indent 4.
template <class Write>
std::string object_of(const SquadPredictions& predictions, const Write& write) {
  if (predictions.size() == 0) return "{}\n";
  std::string out;
  for (const auto& [id, prediction] : predictions.items()) {
    out += out.empty() ? "{\n    " : ",\n    ";
    out += python_text(id) + ": " + write(prediction);
  }
  return out + "\n}\n";
}

// Takes {id: value} value by value; everything nested is refused.
class FlatObject final : public nlohmann::json_sax<Json> {
 public:
  FlatObject(std::string_view json, std::string_view name, std::string_view expected,
             const std::function<bool(std::string id, Json& value)>& take)
      : json_(json), name_(name), expected_(expected), take_(take) {}

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(int64_t value) override { return put(value); }
  bool number_unsigned(uint64_t value) override { return put(value); }
  bool number_float(double value, const std::string&) override { return put(value); }
  bool string(std::string& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override {
    if (open_) refuse("an object");
    return open_ = true;
  }
  bool key(std::string& id) override {
    id_ = std::move(id);
    return true;
  }
  bool end_object() override { return true; }
  bool start_array(size_t) override { refuse("a list"); }
  bool end_array() override { return true; }
  bool parse_error(size_t byte, const std::string&, const Json::exception& e) override {
    throw not_json(json_, name_, byte, e.what());
  }

 private:
  bool put(Json value) {
    if (open_ && take_(id_, value)) return true;
    refuse(value.dump(-1, ' ', true, Json::error_handler_t::replace));
  }
  [[noreturn]] void refuse(std::string_view found) const {
    if (!open_) throw error("{}: {} is expected by id, {} found", name_, expected_, found);
    throw error("{}: {} of question {} is expected, {} found", name_, expected_, quote(id_),
                quote(found));
  }

  std::string_view json_, name_, expected_;
  const std::function<bool(std::string, Json&)>& take_;
  std::string id_;
  bool open_ = false;
};

void parse_flat(std::string_view json, std::string_view name, std::string_view expected,
                const std::function<bool(std::string id, Json& value)>& take) {
  FlatObject events(json, name, expected, take);
  Json::sax_parse(json, &events);
}

}  // namespace

std::string predictions_json(const SquadPredictions& predictions) {
  return object_of(predictions, [](const SquadPrediction& p) { return python_text(p.text); });
}

std::string null_odds_json(const SquadPredictions& predictions) {
  return object_of(predictions,
                   [](const SquadPrediction& p) { return python_number(p.null_odds); });
}

std::string nbest_predictions_json(const SquadPredictions& predictions) {
  return object_of(predictions, [](const SquadPrediction& p) {
    std::string out;
    for (const SquadCandidate& c : p.n_best) {
      out += fmt::format("{}\n        {{\n            \"text\": {},", out.empty() ? "[" : ",",
                         python_text(c.text));
      auto field = [&](std::string_view name, double value) {
        return fmt::format("\n            \"{}\": {}", name, python_number(value));
      };
      out += field("probability", c.probability) + "," + field("start_logit", c.start_logit) + "," +
             field("end_logit", c.end_logit) + "\n        }";
    }
    return out + "\n    ]";
  });
}

AnswersById parse_predictions(std::string_view json, std::string_view name) {
  AnswersById all;
  parse_flat(json, name, "a text", [&](std::string id, Json& value) {
    if (!value.is_string()) return false;
    all.put(std::move(id), std::move(value.get_ref<std::string&>()));
    return true;
  });
  return all;
}

NullOddsById parse_null_odds(std::string_view json, std::string_view name) {
  NullOddsById all;
  parse_flat(json, name, "a number", [&](std::string id, Json& value) {
    if (!value.is_number()) return false;
    all.put(std::move(id), std::move(value));
    return true;
  });
  return all;
}

AnswersById read_predictions(std::string_view uri) {
  return parse_predictions(read_text_up_to(uri, kMostBytes), uri);
}

NullOddsById read_null_odds(std::string_view uri) {
  return parse_null_odds(read_text_up_to(uri, kMostBytes), uri);
}

}  // namespace bertrain
