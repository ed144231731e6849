// bert_config.json and config.json: reading with checks, and writing.
#include "model/config.h"

#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "base/error.h"

namespace bertrain {
namespace {

struct ActivationName {
  std::string_view name;
  Activation activation;
};

// The first name of an activation is the one that is written.
constexpr std::array<ActivationName, 8> kGoogleActivations = {{{"gelu", Activation::gelu_tanh},
                                                               {"gelu_new", Activation::gelu_tanh},
                                                               {"gelu_erf", Activation::gelu_erf},
                                                               {"relu", Activation::relu},
                                                               {"tanh", Activation::tanh},
                                                               {"linear", Activation::none},
                                                               {"", Activation::none},
                                                               {"none", Activation::none}}};
constexpr std::array<ActivationName, 8> kHuggingFaceActivations = {
    {{"gelu", Activation::gelu_erf},
     {"gelu_python", Activation::gelu_erf},
     {"gelu_new", Activation::gelu_tanh},
     {"gelu_pytorch_tanh", Activation::gelu_tanh},
     {"gelu_fast", Activation::gelu_tanh},
     {"relu", Activation::relu},
     {"tanh", Activation::tanh},
     {"linear", Activation::none}}};
using ActivationNames = std::array<ActivationName, 8>;

std::string name_in(const ActivationNames& names, Activation activation) {
  for (const ActivationName& n : names) {
    if (n.activation == activation) return std::string(n.name);
  }
  throw std::logic_error("activation without a name");
}

// Values of one JSON object, checked; each problem is told with place, key, value, expectation.
class Reader {
 public:
  Reader(const Json& json, std::string_view place) : json_(json), place_(place) {
    if (!json.is_object()) {
      throw error("{}: a JSON object with the model's shape expected, found {}", place,
                  json.type_name());
    }
  }

  const Json* find(const char* key) const {
    auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }

  // A count from 1 to `most`: larger ones are damage, and would be multiplied and allocated.
  void count(const char* key, int64_t& value, int64_t most) const {
    const Json* json = find(key);
    if (json == nullptr) return;
    bool fits =
        json->is_number_unsigned()
            ? json->get<uint64_t>() >= 1 && json->get<uint64_t>() <= static_cast<uint64_t>(most)
            : json->is_number_integer() && json->get<int64_t>() >= 1 &&
                  json->get<int64_t>() <= most;
    if (!fits) fail(key, *json, fmt::format("a whole number from 1 to {}", most));
    value = json->get<int64_t>();
  }

  void real(const char* key, double& value, double least, double below) const {
    const Json* json = find(key);
    if (json == nullptr) return;
    double read =
        json->is_number() ? json->get<double>() : std::numeric_limits<double>::quiet_NaN();
    if (!(read >= least && read < below)) {
      fail(key, *json, fmt::format("a number of at least {} and below {}", least, below));
    }
    value = read;
  }

  void activation(const char* key, Activation& value, const ActivationNames& names) const {
    const Json* json = find(key);
    if (json == nullptr) return;
    if (json->is_null()) {
      value = Activation::none;
      return;
    }
    std::string known;
    for (const ActivationName& n : names) {
      if (json->is_string() && json->get_ref<const std::string&>() == n.name) {
        value = n.activation;
        return;
      }
      if (!n.name.empty()) known += (known.empty() ? "" : ", ") + std::string(n.name);
    }
    fail(key, *json, "one of " + known);
  }

  void number(const char* key, int64_t& value, int64_t most) const {
    const Json* json = find(key);
    if (json == nullptr) return;
    // What is beyond 64 bits with a sign is negative here.
    if (!json->is_number_integer() || json->get<int64_t>() < 0 || json->get<int64_t>() > most) {
      fail(key, *json, fmt::format("a whole number from 0 to {}", most));
    }
    value = json->get<int64_t>();
  }

  // A key that may only have these values, because nothing else is built here.
  void only(const char* key, std::initializer_list<std::string_view> wanted) const {
    const Json* json = find(key);
    if (json == nullptr || json->is_null()) return;
    std::string known;
    for (std::string_view value : wanted) {
      if (json->is_string() && json->get_ref<const std::string&>() == value) return;
      known += fmt::format("{}\"{}\"", known.empty() ? "" : " or ", value);
    }
    fail(key, *json, known);
  }

  // A key that may not be true, because nothing of that kind is built here.
  void never(const char* key, std::string_view expected) const {
    const Json* json = find(key);
    if (json != nullptr && !json->is_null() && *json != false)
      fail(key, *json, std::string(expected));
  }

  [[noreturn]] void fail(const char* key, const Json& value, const std::string& expected) const {
    std::string shown = value.dump(-1, ' ', true, Json::error_handler_t::replace);
    if (shown.size() > 60) shown = shown.substr(0, 60) + "…";
    throw error("{}: {} is {}; {} expected", place_, key, shown, expected);
  }

  std::string_view place() const { return place_; }

 private:
  const Json& json_;
  std::string_view place_;
};

constexpr int64_t kMostWidth = int64_t{1} << 20;      // hidden and intermediate sizes
constexpr int64_t kMostPositions = int64_t{1} << 16;  // dropout counters hold 16 bits of a key's
                                                      // position

void read_shape(const Reader& reader, BertConfig& c) {
  reader.count("vocab_size", c.vocab_size, int64_t{1} << 27);
  reader.count("hidden_size", c.hidden_size, kMostWidth);
  reader.count("num_hidden_layers", c.num_hidden_layers, 4096);
  reader.count("num_attention_heads", c.num_attention_heads, kMostWidth);
  reader.count("intermediate_size", c.intermediate_size, kMostWidth);
  reader.count("max_position_embeddings", c.max_position_embeddings, kMostPositions);
  reader.count("type_vocab_size", c.type_vocab_size, int64_t{1} << 20);
  reader.real("hidden_dropout_prob", c.hidden_dropout_prob, 0, 0.999);
  reader.real("attention_probs_dropout_prob", c.attention_probs_dropout_prob, 0, 0.999);
  reader.real("initializer_range", c.initializer_range, 0, 100);
  reader.real("layer_norm_eps", c.layer_norm_eps, 0, 1);
  if (c.hidden_size % c.num_attention_heads != 0) {
    throw error("{}: hidden_size is {}; a multiple of num_attention_heads ({}) expected",
                reader.place(), c.hidden_size, c.num_attention_heads);
  }
}

}  // namespace

BertConfig config_from_google(const Json& json, std::string_view place) {
  Reader reader(json, place);
  BertConfig config;
  if (reader.find("vocab_size") == nullptr) {
    throw error("{}: vocab_size is missing; the number of tokens in the vocabulary expected",
                place);
  }
  reader.activation("hidden_act", config.hidden_act, kGoogleActivations);
  read_shape(reader, config);
  return config;
}

namespace {

BertConfig roberta_from_hugging_face(const Reader& reader) {
  // The defaults of transformers.RobertaConfig.
  BertConfig config;
  config.family = Family::roberta;
  config.vocab_size = 50265;
  config.type_vocab_size = 2;
  config.hidden_act = Activation::gelu_erf;
  // Its masked LM has this one whatever is said here, so that another would mean two things.
  reader.only("hidden_act", {"gelu"});
  reader.only("position_embedding_type", {"absolute"});
  reader.never("is_decoder", "false, as tokens see those after them here,");
  read_shape(reader, config);
  int64_t padding = 1;
  reader.number("pad_token_id", padding, config.max_position_embeddings);
  config.first_position = padding + 1;
  if (config.positions() < 1) {
    throw error("{}: max_position_embeddings is {}; more than pad_token_id + 1 ({}) expected",
                reader.place(), config.max_position_embeddings, config.first_position);
  }
  return config;
}

}  // namespace

BertConfig config_from_hugging_face(const Json& json, std::string_view place) {
  Reader reader(json, place);
  if (const Json* type = reader.find("model_type"); type != nullptr && *type == "roberta") {
    return roberta_from_hugging_face(reader);
  }
  // The defaults of transformers.BertConfig.
  BertConfig config;
  config.vocab_size = 30522;
  config.type_vocab_size = 2;
  config.hidden_act = Activation::gelu_erf;
  reader.only("model_type", {"bert", "roberta"});
  reader.only("position_embedding_type", {"absolute"});
  reader.never("is_decoder", "false, as tokens see those after them here,");
  reader.activation("hidden_act", config.hidden_act, kHuggingFaceActivations);
  read_shape(reader, config);
  return config;
}

namespace {

Json shape_to_json(const BertConfig& c, const ActivationNames& names) {
  return {{"vocab_size", c.vocab_size},
          {"hidden_size", c.hidden_size},
          {"num_hidden_layers", c.num_hidden_layers},
          {"num_attention_heads", c.num_attention_heads},
          {"intermediate_size", c.intermediate_size},
          {"hidden_act", name_in(names, c.hidden_act)},
          {"hidden_dropout_prob", c.hidden_dropout_prob},
          {"attention_probs_dropout_prob", c.attention_probs_dropout_prob},
          {"max_position_embeddings", c.max_position_embeddings},
          {"type_vocab_size", c.type_vocab_size},
          {"initializer_range", c.initializer_range}};
}

}  // namespace

uint64_t parameter_count(const BertConfig& c) {
  // Within 64 bits for all that read_shape() lets through.
  auto h = static_cast<uint64_t>(c.hidden_size), f = static_cast<uint64_t>(c.intermediate_size);
  auto rows = static_cast<uint64_t>(c.vocab_size + c.max_position_embeddings + c.type_vocab_size);
  uint64_t dense = h * h + h, norm = 2 * h;
  uint64_t layer = 4 * dense + 2 * h * f + f + h + 2 * norm;
  return rows * h + norm + static_cast<uint64_t>(c.num_hidden_layers) * layer + dense;
}

Json config_to_google(const BertConfig& config) {
  Json json = shape_to_json(config, kGoogleActivations);
  // Not a key of Google's, whose code has it fixed; written only where it differs.
  if (config.layer_norm_eps != BertConfig{}.layer_norm_eps) {
    json["layer_norm_eps"] = config.layer_norm_eps;
  }
  return json;
}

Json config_to_hugging_face(const BertConfig& config) {
  Json json = shape_to_json(config, kHuggingFaceActivations);
  json["layer_norm_eps"] = config.layer_norm_eps;
  bool roberta = config.family == Family::roberta;
  json["model_type"] = roberta ? "roberta" : "bert";
  json["position_embedding_type"] = "absolute";
  json["pad_token_id"] = roberta ? config.first_position - 1 : 0;
  return json;
}

}  // namespace bertrain
