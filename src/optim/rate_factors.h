// How fast each part of a model learns beside the others: frozen parts, and rates that fall from the
// head down to the embeddings.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace bertrain {

struct RateFactors {
  int64_t layers = 0;  // of the model
  bool embeddings_frozen = false, pooler_frozen = false;
  bool pooler_named = false;  // by itself, not as part of the encoder
  std::set<int64_t> frozen_layers;
  // Factor of the rate from each part to the one below it (Howard & Ruder 2018; Sun et al. 2019): the
  // head and the pooler have the whole rate, layer i of L has decay^(L − i), the embeddings have
  // decay^(L + 1).
  double layer_decay = 1;
};

// Of "embeddings,0-8": any of embeddings, pooler, encoder (embeddings, all layers and the pooler, so
// that the head alone learns), a layer's number from 0, a range of them; "" freezes nothing. Throws a
// usage error that names the flags --freeze and --layer_decay: also for a decay that leaves the embeddings
// no rate in single precision, or that meets nothing that learns.
RateFactors parse_rate_factors(std::string_view frozen, double layer_decay, int64_t layers);

// A usage error where the pooler is named and none of the parameters is its.
void require_named_parts(const RateFactors& factors, const std::vector<std::string>& parameters);

// Of the parameter of that name in a checkpoint; 0: it is frozen.
double rate_factor(const RateFactors& factors, std::string_view parameter);

}  // namespace bertrain
