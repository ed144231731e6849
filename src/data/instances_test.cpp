// Pre-training instances against the reference program: its files record for record, and two hashes of its output.
#include "data/instances.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/records.h"
#include "formats/tfrecord.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

using testing::HasSubstr;

const std::string kData = BERTRAIN_TEST_DATA;

// SHA-256 (FIPS 180-4), in hexadecimal.
std::string sha256(std::string text) {
  // Constants are the first 32 bits of the fractions of the cube and square roots of the first primes.
  std::vector<uint32_t> k;
  std::vector<uint32_t> h;
  auto fraction = [](long double root) {
    return static_cast<uint32_t>((root - std::floor(root)) * 4294967296.0L);
  };
  for (uint32_t p = 2; k.size() < 64; ++p) {
    bool prime = true;
    for (uint32_t q = 2; q * q <= p; ++q) prime = prime && p % q != 0;
    if (!prime) continue;
    if (h.size() < 8) h.push_back(fraction(std::sqrt(static_cast<long double>(p))));
    k.push_back(fraction(std::cbrt(static_cast<long double>(p))));
  }
  uint64_t bits = text.size() * 8;
  text += '\x80';
  while (text.size() % 64 != 56) text += '\0';
  for (int shift = 56; shift >= 0; shift -= 8) text += static_cast<char>(bits >> shift);
  auto rotate = [](uint32_t x, int n) { return x >> n | x << (32 - n); };
  for (size_t block = 0; block < text.size(); block += 64) {
    std::vector<uint32_t> w(64), s = h;
    for (size_t i = 0; i < 64; ++i)
      w[i / 4] = w[i / 4] << 8 | static_cast<uint8_t>(text[block + i]);
    for (size_t i = 16; i < 64; ++i) {
      uint32_t a = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
      uint32_t b = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
      w[i] = w[i - 16] + a + w[i - 7] + b;
    }
    for (size_t i = 0; i < 64; ++i) {
      uint32_t e = rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25);
      uint32_t a = rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22);
      uint32_t one = s[7] + e + ((s[4] & s[5]) ^ (~s[4] & s[6])) + k[i] + w[i];
      uint32_t two = a + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
      s = {one + two, s[0], s[1], s[2], s[3] + one, s[4], s[5], s[6]};
    }
    for (size_t i = 0; i < 8; ++i) h[i] += s[i];
  }
  std::string hex;
  for (uint32_t word : h) hex += fmt::format("{:08x}", word);
  return hex;
}

std::vector<Example> records_of(const std::string& uri) {
  std::vector<Example> records;
  TfRecordReader reader(uri);
  for (std::string record; reader.next(record);) records.push_back(parse_example(record));
  return records;
}

struct Corpus {
  Documents documents;
  Vocabulary vocabulary;
};

Corpus read_corpus(const std::vector<std::string>& uris, const std::string& vocabulary,
                   bool lower) {
  TokenizerOptions options;
  options.do_lower_case = lower;
  Tokenizer tokenizer(Vocabulary::read(vocabulary), options);
  CorpusCounts counts;
  Documents documents = read_documents(uris, tokenizer, InvalidUtf8::error, counts);
  return {std::move(documents), tokenizer.vocabulary()};
}

InstanceOptions options_of(int64_t length, int64_t predictions, int64_t seed, int64_t dupes) {
  InstanceOptions o;
  o.pairs.max_seq_length = length;
  o.masking.max_predictions_per_seq = predictions;
  o.random_seed = seed;
  o.dupe_factor = dupes;
  return o;
}

RecordShape shape_of(const InstanceOptions& o) {
  return {o.pairs.max_seq_length, o.masking.max_predictions_per_seq};
}

void expect_equal(const Corpus& corpus, const InstanceOptions& options, const std::string& golden) {
  Instances instances(corpus.documents, corpus.vocabulary, options);
  std::vector<Example> expected = records_of(kData + "/create_pretraining_data/" + golden);
  ASSERT_EQ(instances.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(make_record(instances, i, shape_of(options)), expected[i]) << "record " << i;
  }
}

TEST(instances, EqualTheReferencesUncased) {
  Corpus c = read_corpus({kData + "/text/part-a.txt"}, kData + "/text/vocab-uncased.txt", true);
  expect_equal(c, options_of(128, 20, 12345, 5), "default-uncased.tfrecord");
}

TEST(instances, EqualTheReferencesCased) {
  Corpus c = read_corpus({kData + "/text/part-b.txt"}, kData + "/text/vocab-cased.txt", false);
  expect_equal(c, options_of(64, 10, 7, 2), "cased-64.tfrecord");
}

TEST(instances, EqualTheReferencesWholeWordOverTwoFiles) {
  Corpus c = read_corpus({kData + "/text/part-a.txt", kData + "/text/part-b.txt"},
                         kData + "/text/vocab-uncased.txt", true);
  InstanceOptions o = options_of(32, 5, 99, 1);
  o.masking.do_whole_word_mask = true;
  o.pairs.short_seq_prob = 0.5;
  expect_equal(c, o, "wwm-two-inputs.tfrecord");
}

TEST(records, RoundRobinOverThreeFilesAsTheReference) {
  Corpus c = read_corpus({kData + "/text/part-a.txt"}, kData + "/text/vocab-uncased.txt", true);
  InstanceOptions o = options_of(48, 8, 1, 1);
  Instances instances(c.documents, c.vocabulary, o);
  for (bool gzip : {false, true}) {
    RecordFiles({"mem://three-0", "mem://three-1", "mem://three-2"}, gzip)
        .write(instances, shape_of(o));
    for (const char* name : {"three-0", "three-1", "three-2"}) {
      std::vector<Example> golden =
          records_of(kData + "/create_pretraining_data/" + name + ".tfrecord");
      EXPECT_EQ(records_of(std::string("mem://") + name), golden) << name;
    }
  }
}

TEST(records, AllFilesOrNone) {
  Corpus c = read_corpus({kData + "/text/part-a.txt"}, kData + "/text/vocab-uncased.txt", true);
  InstanceOptions o = options_of(512, 8, 1, 1);
  Instances instances(c.documents, c.vocabulary, o);
  std::vector<std::string> uris;
  for (size_t i = 0; i <= instances.size(); ++i) uris.push_back("mem://some-" + std::to_string(i));
  EXPECT_THROW(RecordFiles(uris, false).write(instances, shape_of(o)), Error);
  EXPECT_FALSE(storage_for("mem://").size("mem://some-0"));
  EXPECT_THROW(RecordFiles({"mem://same", "mem://same"}, false), Error);
}

// The corpus and vocabulary of which the reference's output is known by its hash.
Corpus made_corpus() {
  std::string vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  for (int i = 0; i < 100; ++i) vocabulary += fmt::format("w{}\n", i);
  vocabulary += "##x\n";
  std::string text;
  for (int d = 0; d < 6; ++d) {
    for (int s = 0; s < 4 + d; ++s) {
      int words = 4 + (d + s) % 5;
      for (int k = 0; k < words; ++k) {
        text +=
            fmt::format("{}w{}{}", k ? " " : "", (7 * d + 3 * s + k) % 100, k % 3 == 2 ? "x" : "");
      }
      text += "\n";
    }
    text += "\n";
  }
  EXPECT_TRUE(sha256(vocabulary).starts_with("34fca91a"));
  EXPECT_TRUE(sha256(text).starts_with("1679ca11"));
  write_text("mem://vocab.txt", vocabulary);
  write_text("mem://corpus.txt", text);
  return read_corpus({"mem://corpus.txt"}, "mem://vocab.txt", true);
}

std::string dump(const Instances& instances) {
  std::string text;
  std::vector<int32_t> tokens;
  for (size_t i = 0; i < instances.size(); ++i) {
    Instances::View v = instances.view(i, tokens);
    std::vector<int64_t> ids(tokens.begin(), tokens.end()), segments(tokens.size(), 0);
    std::vector<int64_t> positions, labels;
    std::fill(segments.begin() + static_cast<ptrdiff_t>(v.a_size) + 2, segments.end(), 1);
    for (const MaskedToken& m : v.masked) {
      positions.push_back(m.position);
      labels.push_back(ids[m.position]);
      ids[m.position] = m.replacement;
    }
    text += fmt::format("{}|{}|{}|{}|{}\n", fmt::join(ids, " "), fmt::join(segments, " "),
                        fmt::join(positions, " "), fmt::join(labels, " "), v.random_next ? 1 : 0);
  }
  return text;
}

TEST(instances, HashOfTheReferencesOutput) {
  Corpus c = made_corpus();
  Instances instances(c.documents, c.vocabulary, options_of(32, 5, 12345, 3));
  EXPECT_EQ(instances.size(), 55u);
  EXPECT_EQ(instances.counts().random_next, 40u);
  EXPECT_EQ(sha256(dump(instances)),
            "9b02e048dcf362f1ee95e0b6c4ca335aa55f94fc6e52e4bbfd8c5784e7df8c66");
  EXPECT_EQ(instances.next_random(), 0.10911441733426908);
}

TEST(instances, HashOfTheReferencesOutputWithWholeWords) {
  Corpus c = made_corpus();
  InstanceOptions o = options_of(32, 5, 12345, 3);
  o.masking.do_whole_word_mask = true;
  Instances instances(c.documents, c.vocabulary, o);
  EXPECT_EQ(instances.size(), 51u);
  EXPECT_EQ(instances.counts().random_next, 32u);
  EXPECT_EQ(sha256(dump(instances)),
            "5640dedc3926bd575cd181391d63daf2569196af16b693e7da36f8db8cda2648");
  EXPECT_EQ(instances.next_random(), 0.5642369094735605);
}

TEST(Instances, NeedsAreToldFromASample) {
  Tokenizer tokenizer(
      Vocabulary::parse("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\nd\ne\nf\n", "letters"));
  std::string text;
  for (uint32_t i = 0, x = 1; text.size() < 5'000'000;
       ++i) {  // sentences of 1 to 40, 12 a document
    for (uint32_t words = 1 + (x = x * 1664525 + 1013904223) % 40; words > 0; --words) {
      text += {static_cast<char>('a' + (words + i) % 6), ' '};
    }
    text += i % 12 == 11 ? "\n\n" : "\n";
  }
  std::vector<std::string> files = {"mem://needs-1", "mem://needs-2"};
  for (const std::string& file : files) write_text(file, text);
  InstanceOptions options;
  options.dupe_factor = 3;
  std::optional<CorpusSample> sample = sample_documents(files, tokenizer);
  ASSERT_TRUE(sample);
  CorpusNeeds needs = Instances::needs(*sample, tokenizer.vocabulary(), options);
  CorpusCounts counts;
  Documents documents = read_documents(files, tokenizer, InvalidUtf8::error, counts);
  Instances instances(documents, tokenizer.vocabulary(), options);
  auto close = [](uint64_t a, uint64_t b) { return a < b + b / 20 && b < a + a / 20; };
  EXPECT_PRED2(close, needs.tokens, documents.total_tokens());
  EXPECT_PRED2(close, needs.instances, instances.size());
  EXPECT_GT(needs.bytes, 4 * needs.tokens + 40 * needs.instances + 8 * instances.counts().masked);
  EXPECT_LT(needs.bytes, 4 * (4 * needs.tokens + 40 * needs.instances));
  // Of small corpora the sample is the whole, however many passes; what can be read once only has none.
  write_text(files[0], "a b\n\nc d\n");
  options.dupe_factor = 1000;
  needs =
      Instances::needs(*sample_documents({files[0]}, tokenizer), tokenizer.vocabulary(), options);
  EXPECT_EQ(needs.tokens, 4u);
  EXPECT_EQ(needs.instances, 2000u);
  EXPECT_FALSE(sample_documents({"/dev/zero", files[1], files[1]}, tokenizer));
}

TEST(Instances, NeedsAreToldAsTheyGrow) {
  Tokenizer tokenizer(Vocabulary::parse("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n", "letters"));
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "a b\nb a\n\n";
  write_text("mem://told", text);
  CorpusCounts counts;
  CorpusNeeds read, made, first;
  Documents documents = read_documents({"mem://told"}, tokenizer, InvalidUtf8::error, counts,
                                       [&](const CorpusNeeds& needs) { read = needs; });
  EXPECT_EQ(read.tokens, 80'000u);
  EXPECT_GT(read.bytes, 80'000u * 4);
  InstanceOptions options;
  options.dupe_factor = 50;
  auto hear = [&](const CorpusNeeds& needs) {
    if (needs.instances > 2 * made.instances) first = needs;  // told after the first pass
    made = needs;
  };
  Instances instances(documents, tokenizer.vocabulary(), options, hear);
  EXPECT_NEAR(static_cast<double>(first.instances), static_cast<double>(instances.size()), 20'000);
  EXPECT_GT(first.bytes, instances.size() * 50);
  auto refuse = [](const CorpusNeeds& needs) {
    if (needs.instances > 50'000) throw error("too much");
  };
  EXPECT_THROW(Instances(documents, tokenizer.vocabulary(), options, refuse), Error);
}

}  // namespace
}  // namespace bertrain
