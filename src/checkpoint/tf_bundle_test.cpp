// TF bundles: the reference's files read and written again to the byte, several shards, damage.
#include "checkpoint/tf_bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "base/error_message.h"
#include "base/rng.h"
#include "formats/crc32c.h"
#include "formats/tf_index.h"
#include "formats/wire.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kInit = BERTRAIN_TEST_DATA "/tf1_pretrain/init/bert_model.ckpt";
const std::string kTrained = BERTRAIN_TEST_DATA "/tf1_pretrain/trained/model.ckpt-20";

void copy(const CheckpointReader& reader, const std::string& prefix) {
  auto writer = create_tf_bundle(prefix);
  for (const auto& [name, type] : reader.tensors()) writer->write(name, reader.read(name));
  writer->commit();
}

// What an entry of an index says, as the format's documentation has it.
std::string entry(uint64_t type, const Shape& shape, uint64_t shard, uint64_t offset,
                  const std::string& value) {
  WireWriter dims, message;
  for (int64_t extent : shape) {
    WireWriter dim;
    dim.varint(1, static_cast<uint64_t>(extent));
    dims.bytes(2, dim.message());
  }
  message.varint(1, type);
  message.bytes(2, dims.message());
  message.varint(3, shard);
  message.varint(4, offset);
  message.varint(5, value.size());
  message.fixed32(6, mask_crc(crc32c(std::as_bytes(std::span(value)))));
  return message.message();
}

std::string header(uint64_t shards) {
  WireWriter message;
  message.varint(1, shards);
  return message.message();
}

TEST(TfBundle, ReadsInitAndTrained) {
  auto init = open_tf_bundle(kInit), trained = open_tf_bundle(kTrained);
  EXPECT_EQ(init->tensors().at("bert/embeddings/word_embeddings"),
            (ArrayType{DType::f32, {586, 32}}));
  Array gamma = init->read("bert/embeddings/LayerNorm/gamma");
  for (float g : gamma.as<float>()) EXPECT_NEAR(g, 1, 0.3);
  EXPECT_EQ(trained->read("global_step").as<int64_t>()[0], 20);
  EXPECT_FALSE(init->tensors().contains("bert/pooler/dense/kernel/adam_m"));
  for (const auto& [name, type] : init->tensors()) {
    if (name == "global_step") continue;
    EXPECT_EQ(trained->tensors().at(name), type) << name;
    for (const char* slot : {"/adam_m", "/adam_v"}) {
      EXPECT_EQ(trained->tensors().at(name + slot), type) << name;
    }
    auto before = init->read(name), after = trained->read(name);
    EXPECT_FALSE(std::ranges::equal(before.raw(), after.raw())) << name;
  }
}

TEST(TfBundle, WritesTheBytesThatTensorflowWrote) {
  copy(*open_tf_bundle(kTrained), "mem://tf/model.ckpt-20");
  for (const char* end : {".index", ".data-00000-of-00001"}) {
    EXPECT_EQ(read_text(std::string("mem://tf/model.ckpt-20") + end), read_text(kTrained + end));
  }
  EXPECT_EQ(read_text("mem://tf/checkpoint"),
            read_text(BERTRAIN_TEST_DATA "/tf1_pretrain/trained/checkpoint"));
}

TEST(TfBundle, AllTypesRoundTrip) {
  auto writer = create_tf_bundle("mem://types/x");
  Named<Array> arrays;
  int64_t n = 0;
  for (DType dtype : {DType::f32, DType::bf16, DType::f16, DType::i32, DType::i64, DType::u32,
                      DType::u8, DType::boolean}) {
    arrays[std::string(name_of(dtype))] = zeros({dtype, {n++, 3}});
  }
  arrays["scalar"] = scalar<int64_t>(7);
  for (const auto& [name, array] : arrays) writer->write(name, array);
  writer->commit();
  auto reader = open_tf_bundle("mem://types/x");
  EXPECT_EQ(reader->tensors().size(), arrays.size());
  for (const auto& [name, array] : arrays) {
    EXPECT_EQ(reader->read(name).type, array.type);
    EXPECT_TRUE(std::ranges::equal(reader->read(name).raw(), array.raw()));
  }
}

TEST(TfBundle, SeveralShardsAndStrings) {
  std::string a(8, 'a'), b(4, 'b'), graph = "\x05hello";
  write_text("mem://shards/x.data-00000-of-00002", a + graph);
  write_text("mem://shards/x.data-00001-of-00002", b);
  write_text("mem://shards/x.index", write_table({{"", header(2)},
                                                  {"_GRAPH", entry(7, {}, 0, 8, graph)},
                                                  {"a", entry(1, {2}, 0, 0, a)},
                                                  {"b", entry(14, {1, 2}, 1, 0, b)}}));
  auto reader = open_tf_bundle("mem://shards/x");
  EXPECT_EQ(reader->tensors(),
            (Named<ArrayType>{{"a", {DType::f32, {2}}}, {"b", {DType::bf16, {1, 2}}}}));
  EXPECT_EQ(reader->read("b").as<uint16_t>()[1], 0x6262);
  storage_for("mem://").remove("mem://shards/x.data-00001-of-00002");
  EXPECT_THAT(message_of([] { open_tf_bundle("mem://shards/x"); }),
              HasSubstr("x.data-00001-of-00002 is missing, though mem://shards/x.index is there"));
}

TEST(TfBundle, DamageIsNamed) {
  copy(*open_tf_bundle(kInit), "mem://damage/x");
  std::string data = read_text("mem://damage/x.data-00000-of-00001");
  auto with_data = [&](const std::string& bytes) {
    write_text("mem://damage/x.data-00000-of-00001", bytes);
  };
  with_data(data.substr(0, data.size() / 2));
  EXPECT_THAT(message_of([] { open_tf_bundle("mem://damage/x"); }),
              HasSubstr(fmt::format("truncated: expected {} bytes, found {}", data.size(),
                                    data.size() / 2)));
  std::string flipped = data;
  flipped[0] ^= 1;
  with_data(flipped);
  auto reader = open_tf_bundle("mem://damage/x");
  EXPECT_THAT(message_of([&] { reader->read("bert/embeddings/LayerNorm/beta"); }),
              HasSubstr("checksum of tensor 'bert/embeddings/LayerNorm/beta' does not hold"));
  EXPECT_NO_THROW(reader->read("bert/embeddings/LayerNorm/gamma"));
  storage_for("mem://").remove("mem://damage/x.index");
  EXPECT_THAT(message_of([] { open_tf_bundle("mem://damage/x"); }),
              HasSubstr("x.index is missing, though mem://damage/x.data-00000-of-00001 is there"));
  EXPECT_THAT(message_of([] { open_tf_bundle("mem://damage/none"); }),
              HasSubstr("no such checkpoint"));
}

TEST(TfBundle, CraftedEntriesAreErrors) {
  auto opening = [](const std::string& head, const std::string& item) {
    write_text("mem://crafted/x.data-00000-of-00001", std::string(16, '\0'));
    write_text("mem://crafted/x.index", write_table({{"", head}, {"t", item}}));
    return message_of([] { open_tf_bundle("mem://crafted/x"); });
  };
  std::string v(4, '\0');
  EXPECT_EQ(opening(header(1), entry(1, {1}, 0, 12, v)), "no error");
  EXPECT_THAT(opening(header(1), entry(1, {2}, 0, 0, v)), HasSubstr("does not take the 4 bytes"));
  EXPECT_THAT(opening(header(1), entry(1, {-1}, 0, 0, v)), HasSubstr("negative"));
  EXPECT_THAT(opening(header(1), entry(1, {1ll << 40, 1ll << 40}, 0, 0, v)),
              HasSubstr("too large"));
  EXPECT_THAT(opening(header(1), entry(1, {1ll << 62}, 0, 0, "")), HasSubstr("does not take"));
  EXPECT_THAT(opening(header(1), entry(2, {1}, 0, 0, v)), HasSubstr("TensorFlow type 2"));
  EXPECT_THAT(opening(header(1), entry(1, {1}, 1, 0, v)), HasSubstr("data file 1 of 1"));
  EXPECT_THAT(opening(header(1), entry(1, {1}, 0, 13, v)),
              HasSubstr("truncated: expected 17 bytes, found 16"));
  EXPECT_THAT(opening(header(1), entry(1, {1}, 0, ~0ull, v)), HasSubstr("cannot be"));
  EXPECT_THAT(opening(header(1ull << 40), entry(1, {1}, 0, 0, v)), HasSubstr("is missing"));
  EXPECT_THAT(opening(header(1) + std::string("\x10\x01", 2), entry(1, {1}, 0, 0, v)),
              HasSubstr("big-endian"));
  EXPECT_THAT(opening(header(1), "\xff"), HasSubstr("tensor 't': protobuf message"));
}

TEST(TfBundle, PrefixOfEveryPart) {
  EXPECT_EQ(bundle_prefix("d/x.index"), "d/x");
  EXPECT_EQ(bundle_prefix("d/x.meta"), "d/x");
  EXPECT_EQ(bundle_prefix("d/x.data-00012-of-00100"), "d/x");
  EXPECT_EQ(bundle_prefix("d/x.data-0001-of-00100"), "d/x.data-0001-of-00100");
  EXPECT_EQ(bundle_prefix("d/x"), "d/x");
}

TEST(TfBundle, StateKeepsWhatIsStillThere) {
  auto source = open_tf_bundle(kInit);
  for (const char* prefix : {"mem://state/a-1", "mem://state/a-2", "mem://state/a-3"}) {
    copy(*source, prefix);
  }
  EXPECT_THAT(read_tf_state("mem://state/checkpoint"),
              ElementsAre("mem://state/a-1", "mem://state/a-2", "mem://state/a-3"));
  storage_for("mem://").remove("mem://state/a-1.index");
  copy(*source, "mem://state/a-2");
  EXPECT_THAT(read_tf_state("mem://state/checkpoint"),
              ElementsAre("mem://state/a-3", "mem://state/a-2"));
}

TEST(TfBundle, StateFileOfOthers) {
  write_text("mem://s/checkpoint",
             "model_checkpoint_path: \"m \\\"q\\\" \\303\\244\"\r\n"
             "all_model_checkpoint_paths: '/abs/old'\nlast_preserved_timestamp: 1.5\n");
  EXPECT_THAT(read_tf_state("mem://s/checkpoint"), ElementsAre("/abs/old", "mem://s/m \"q\" ä"));
  write_tf_state("mem://s", {"mem://s/m \"q\" ä"});
  EXPECT_THAT(read_tf_state("mem://s/checkpoint"), ElementsAre("mem://s/m \"q\" ä"));
  write_text("mem://s/checkpoint", "model_checkpoint_path: m\n");
  EXPECT_THAT(message_of([] { read_tf_state("mem://s/checkpoint"); }),
              HasSubstr("checkpoint:1: a path in quotes is expected"));
  write_text("mem://s/checkpoint", "");
  EXPECT_THAT(message_of([] { read_tf_state("mem://s/checkpoint"); }), HasSubstr("names no"));
}

// The index is sealed again after each change, so that the damage gets past its checksums.
TEST(TfBundle, SurvivesMutations) {
  auto source = open_tf_bundle(kInit);
  copy(*source, "mem://mutant/x");
  std::string file = read_text("mem://mutant/x.index");
  std::vector<IndexEntry> index = read_table(std::as_bytes(std::span(file)), "x");
  Block key = key_of(3, "mutations", 0);
  int opened = 0, read = 0;
  for (uint64_t i = 0; i < 1500; ++i) {
    std::vector<IndexEntry> changed = index;
    for (uint64_t j = 0; j < 2; ++j) {
      std::string& value = changed[below(key, 16 * i + j, changed.size())].value;
      size_t at = below(key, 16 * i + j + 4, value.size());
      value[at] = static_cast<char>(below(key, 16 * i + j + 8, 256));
      if (i % 5 == 0) value.resize(at);
    }
    write_text("mem://mutant/x.index", write_table(changed));
    try {
      auto reader = open_tf_bundle("mem://mutant/x");
      for (const auto& [name, type] : reader->tensors()) {
        ++opened;
        read += message_of([&] { reader->read(name); }) == "no error";
      }
    } catch (const Error&) {
    }
  }
  EXPECT_GT(read, 0);
  EXPECT_LT(read, opened);
}

}  // namespace
}  // namespace bertrain
