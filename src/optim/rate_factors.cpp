// Parts of a model by the names of its parameters.
#include "optim/rate_factors.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "base/error.h"

namespace bertrain {
namespace {

constexpr std::string_view kLayer = "bert/encoder/layer_", kPooler = "bert/pooler/";

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t number = 0;
  const char* last = text.data() + text.size();
  auto [end, code] = std::from_chars(text.data(), last, number);
  if (code != std::errc() || end != last || number < 0) return std::nullopt;
  return number;
}

void freeze_layers(RateFactors& factors, std::string_view part) {
  size_t dash = part.find('-');
  std::optional<int64_t> first = whole_number(part.substr(0, dash)), last = first;
  if (dash != std::string_view::npos) last = whole_number(part.substr(dash + 1));
  if (!first || !last || *first > *last) {
    throw usage_error(
        "--freeze: \"{}\" is no part of a model: embeddings, pooler, encoder, a layer as 0, or "
        "layers as 0-8 expected, with commas between them",
        part);
  }
  if (*last >= factors.layers) {
    throw usage_error("--freeze: \"{}\": the model has {} layers, 0 to {}", part, factors.layers,
                      factors.layers - 1);
  }
  for (int64_t layer = *first; layer <= *last; ++layer) factors.frozen_layers.insert(layer);
}

void freeze(RateFactors& factors, std::string_view part) {
  bool all = part == "encoder";
  if (all || part == "embeddings") factors.embeddings_frozen = true;
  if (all || part == "pooler") factors.pooler_frozen = true;
  if (part == "pooler") factors.pooler_named = true;
  if (all) {
    for (int64_t layer = 0; layer < factors.layers; ++layer) factors.frozen_layers.insert(layer);
  } else if (part != "embeddings" && part != "pooler") {
    freeze_layers(factors, part);
  }
}

int64_t layer_of(std::string_view parameter) {
  std::string_view rest = parameter.substr(kLayer.size());
  std::optional<int64_t> layer = whole_number(rest.substr(0, rest.find('/')));
  check(layer.has_value(), "a layer's parameter without its number");
  return *layer;
}

}  // namespace

RateFactors parse_rate_factors(std::string_view frozen, double layer_decay, int64_t layers) {
  if (!(layer_decay > 0 && layer_decay <= 1)) {
    throw usage_error("--layer_decay={}: a factor above 0 and at most 1 expected", layer_decay);
  }
  RateFactors factors{.layers = layers, .frozen_layers = {}, .layer_decay = layer_decay};
  double least = std::pow(layer_decay, static_cast<double>(layers + 1));
  if (least < static_cast<double>(std::numeric_limits<float>::min())) {
    throw usage_error(
        "--layer_decay={}: of the model's {} layers the lowest would have no rate; a larger factor "
        "expected, or --freeze, which leaves parts as they are",
        layer_decay, layers);
  }
  if (frozen.empty()) return factors;
  for (size_t begin = 0; begin <= frozen.size();) {
    size_t comma = std::min(frozen.find(',', begin), frozen.size());
    freeze(factors, frozen.substr(begin, comma - begin));
    begin = comma + 1;
  }
  bool lower_learn =
      !factors.embeddings_frozen || std::ssize(factors.frozen_layers) < factors.layers;
  if (layer_decay != 1 && !lower_learn) {
    throw usage_error(
        "--layer_decay={} has no effect: --freeze={} leaves nothing below the head to learn",
        layer_decay, frozen);
  }
  return factors;
}

void require_named_parts(const RateFactors& factors, const std::vector<std::string>& parameters) {
  bool has_pooler = std::ranges::any_of(
      parameters, [](const std::string& name) { return name.starts_with(kPooler); });
  if (factors.pooler_named && !has_pooler) {
    throw usage_error("--freeze: \"pooler\": the model for this task has none");
  }
}

double rate_factor(const RateFactors& factors, std::string_view parameter) {
  int64_t below = 0;  // parts from the head down to this one
  bool frozen = false;
  if (parameter.starts_with("bert/embeddings/")) {
    below = factors.layers + 1;
    frozen = factors.embeddings_frozen;
  } else if (parameter.starts_with(kLayer)) {
    int64_t layer = layer_of(parameter);
    below = factors.layers - layer;
    frozen = factors.frozen_layers.contains(layer);
  } else if (parameter.starts_with(kPooler)) {
    frozen = factors.pooler_frozen;
  }
  return frozen ? 0 : std::pow(factors.layer_decay, static_cast<double>(below));
}

}  // namespace bertrain
