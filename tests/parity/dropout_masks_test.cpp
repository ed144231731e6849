// Dropout masks of every backend against base/rng.h on the host, to the bit.
#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "run.h"

namespace bertrain {
namespace {

constexpr double kRate = 0.1;
constexpr Block kKey = {0x12345678u, 0x9ABCDEF0u};

// What stays is multiplied by this.
float scale() { return static_cast<float>(1 / (1 - std::round(65536 * kRate) / 65536)); }

// Lanes 0 … 3: low's low half, low's high half, high's low half, high's high half.
bool stays(Block counter, uint32_t lane) {
  Block bits = threefry(kKey, counter);
  uint32_t half = (bits[lane / 2] >> (16 * (lane % 2))) & 0xFFFF;
  return half >= static_cast<uint32_t>(std::lround(65536 * kRate));
}

Array key() { return make_array<uint32_t>({2}, std::vector<uint32_t>{kKey[0], kKey[1]}); }

std::vector<std::vector<float>> on_all_backends(const std::vector<Array>& inputs,
                                                const Record& record) {
  std::vector<std::vector<float>> all;
  for (const NamedBackend& b : all_backends()) {
    Array y = run(*b.backend, record_case({nullptr, inputs, record, {}, {}}, false)).at(0);
    auto values = y.as<float>();
    all.emplace_back(values.begin(), values.end());
  }
  return all;
}

TEST(DropoutMasks, OfColumnsEqualTheHosts) {
  for (int64_t columns : {1, 3, 4, 7, 64, 129}) {
    Slots s = packed_slots(2, 40, {17, 11, 5});
    Array ones = make_array<float>({2, 40, columns},
                                   std::vector<float>(static_cast<size_t>(80 * columns), 1.0f));
    Array zero = zeros(ones.type);
    Array gamma = make_array<float>({columns}, std::vector<float>(static_cast<size_t>(columns), 1));
    auto number = s.number.as<uint32_t>();
    auto position = s.position.as<int32_t>();
    std::vector<float> expected;
    for (size_t slot = 0; slot < 80; ++slot) {
      for (uint32_t c = 0; c < columns; ++c) {
        uint32_t draws = (static_cast<uint32_t>(columns) + 3) / 4;
        uint32_t counter = static_cast<uint32_t>(position[slot]) * draws + c / 4;
        expected.push_back(stays({number[slot], counter}, c % 4) ? scale() : 0.0f);
      }
    }
    for (const auto& found :
         on_all_backends({ones, key(), s.number, s.position}, [](Graph&, const Tensors& in) {
           return Tensors{dropout(in[0], {in[1], in[2], in[3], kRate})};
         })) {
      EXPECT_EQ(found, expected) << columns;
    }
    // The same decisions inside a composite: z = 0 + dropout(1).
    for (const auto& found : on_all_backends(
             {zero, ones, gamma, key(), s.number, s.position}, [](Graph&, const Tensors& in) {
               Dropout d{in[3], in[4], in[5], kRate};
               return Tensors{add_and_norm(in[0], in[1], in[2], in[2], d, 1e-3).z};
             })) {
      EXPECT_EQ(found, expected) << columns;
    }
  }
}

// Equal scores make every probability 1 / keys, and the values are unit vectors, so that column j
// of a head's result is what became of the probability of key j.
TEST(DropoutMasks, OfProbabilitiesEqualTheHosts) {
  constexpr uint32_t kHeads = 3, kSlots = 37;
  const std::vector<int64_t> lengths = {19, 1, 14};
  Slots s = packed_slots(1, kSlots, lengths);
  auto example = s.example.as<int32_t>(), is_key = s.is_key.as<int32_t>(),
       position = s.position.as<int32_t>();
  auto number = s.number.as<uint32_t>();
  constexpr size_t kColumns = kHeads * kSlots;
  std::vector<float> unit(kSlots * kColumns, 0.0f), kept(kSlots * kColumns, 0.0f);
  for (size_t j = 0; j < kSlots; ++j) {
    for (size_t h = 0; h < kHeads; ++h) {
      unit[j * kColumns + h * kSlots + j] = 1;
      for (size_t q = 0; q < kSlots; ++q) {
        if (example[q] < 0 || example[q] != example[j] || !is_key[j]) continue;
        auto p = static_cast<uint32_t>(position[q]), k = static_cast<uint32_t>(position[j]);
        Block counter = {number[q] * kHeads + static_cast<uint32_t>(h), (p << 14) | (k >> 2)};
        kept[q * kColumns + h * kSlots + j] = stays(counter, k % 4) ? 1.0f : 0.0f;
      }
    }
  }
  Array v = make_array<float>({1, kSlots, kColumns}, unit);
  for (const auto& found :
       on_all_backends({zeros(v.type), v, s.example, s.is_key, key(), s.number, s.position},
                       [](Graph&, const Tensors& in) {
                         Dropout d{in[4], in[5], in[6], kRate};
                         return Tensors{attention(in[0], in[0], in[1], kHeads, in[2], in[3], d).y};
                       })) {
    for (size_t q = 0; q < kSlots; ++q) {
      if (example[q] < 0) continue;
      float keys = 0;
      for (size_t j = 0; j < kSlots; ++j) keys += example[j] == example[q] && is_key[j];
      for (size_t i = q * kColumns; i < (q + 1) * kColumns; ++i) {
        ASSERT_EQ(found[i] != 0, kept[i] != 0) << "slot " << q << ", column " << i % kColumns;
        ASSERT_NEAR(found[i], kept[i] * scale() / keys, 1e-6);
      }
    }
  }
}

TEST(DropoutMasks, RandomBitsAreThreefry) {
  std::vector<uint32_t> c0 = {0, 1, 0xFFFFFFFFu, 77}, c1 = {0, 5, 0xFFFFFFFFu, 1u << 31};
  Record record = [](Graph&, const Tensors& in) {
    Bits b = random_bits(in[0], in[1], in[2]);
    return Tensors{b.low, b.high};
  };
  Case c{&kRandomBits,
         {key(), make_array<uint32_t>({4}, c0), make_array<uint32_t>({4}, c1)},
         record,
         {},
         {}};
  for (const NamedBackend& b : all_backends()) {
    std::vector<Array> y = run(*b.backend, record_case(c, false));
    for (size_t i = 0; i < 4; ++i) {
      Block bits = threefry(kKey, {c0[i], c1[i]});
      EXPECT_EQ(y[0].as<uint32_t>()[i], bits[0]);
      EXPECT_EQ(y[1].as<uint32_t>()[i], bits[1]);
    }
  }
}

}  // namespace
}  // namespace bertrain
