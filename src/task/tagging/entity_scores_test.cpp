// Entities and their scores, worked out by hand from conlleval's rules.
#include "task/tagging/entity_scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "base/error.h"

namespace bertrain {
namespace {

using Strings = std::vector<std::string>;

Strings split(const std::string& text) {
  std::istringstream in(text);
  Strings words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// "0-2 X, 3-4 Y": words [begin, end) and type of each entity.
std::string found(const std::string& tags) {
  std::string text;
  for (const Entity& e : entities_of(split(tags))) {
    text += fmt::format("{}{}-{} {}", text.empty() ? "" : ", ", e.begin, e.end, e.type);
  }
  return text;
}

TEST(Entities, OfIob2) {
  EXPECT_EQ(found(""), "");
  EXPECT_EQ(found("O O"), "");
  EXPECT_EQ(found("B-X I-X O B-X"), "0-2 X, 3-4 X");
  EXPECT_EQ(found("B-X B-X I-X"), "0-1 X, 1-3 X");  // B directly behind
  EXPECT_EQ(found("B-X B-Y"), "0-1 X, 1-2 Y");
  EXPECT_EQ(found("O I-X I-X O"), "1-3 X");         // I behind O
  EXPECT_EQ(found("B-X I-Y I-Y"), "0-1 X, 1-3 Y");  // the type changes
  EXPECT_EQ(found("I-X I-Y"), "0-1 X, 1-2 Y");
  EXPECT_EQ(found("B-X O I-X"), "0-1 X, 2-3 X");
}

TEST(Entities, OfIob1) {
  EXPECT_EQ(found("I-X I-X B-X I-X O"), "0-2 X, 2-4 X");  // B parts two of a type alone
  EXPECT_EQ(found("I-X I-X I-Y B-Y"), "0-2 X, 2-3 Y, 3-4 Y");
}

TEST(Entities, OfIobes) {
  EXPECT_EQ(found("S-X S-X O S-Y"), "0-1 X, 1-2 X, 3-4 Y");
  EXPECT_EQ(found("B-X I-X E-X E-X"), "0-3 X, 3-4 X");
  EXPECT_EQ(found("B-X E-X I-X"), "0-2 X, 2-3 X");
  EXPECT_EQ(found("S-X I-X"), "0-1 X, 1-2 X");
  EXPECT_EQ(found("O E-X B-X S-X"), "1-2 X, 2-3 X, 3-4 X");
  EXPECT_EQ(found("I-X E-X"), "0-2 X");
  // BILOU and BMES name the same positions otherwise.
  EXPECT_EQ(found("B-X I-X L-X L-X U-X"), "0-3 X, 3-4 X, 4-5 X");
  EXPECT_EQ(found("B-X M-X E-X"), "0-3 X");
}

TEST(Entities, OfOddTags) {
  EXPECT_EQ(found("B I O B"), "0-2 , 3-4 ");                  // without types
  EXPECT_EQ(found("B-X-1 I-X-1 I-X-2"), "0-2 X-1, 2-3 X-2");  // the first '-' parts
  EXPECT_EQ(found("NN NN VB O"), "0-1 NN, 1-2 NN, 2-3 VB");   // no positions: each word alone
  EXPECT_EQ(found("O-X B-X"), "1-2 X");
  EXPECT_EQ(found("[-X ]-X"), "0-1 X, 1-2 X");
}

TEST(EntityScores, AreThoseWorkedOutByHand) {
  EntityScores s;
  // Entities of the key: PER 0-2, LOC 3-4, ORG 5-6. Of the answer: PER 0-2 (right), PER 3-4 (type),
  // ORG 5-7 (end).
  s.add(split("B-PER I-PER O B-LOC O B-ORG O"), split("B-PER I-PER O B-PER O B-ORG I-ORG"));
  // I behind O and B behind O are the same entity, though not the same tag: 1 right of 1 and 1.
  s.add(split("B-LOC I-LOC"), split("I-LOC I-LOC"));
  // LOC 0-1, LOC 1-2 against LOC 0-2: none.
  s.add(split("B-LOC B-LOC"), split("B-LOC I-LOC"));
  s.add({}, {});
  Hits all = s.all();
  EXPECT_EQ(all.true_positive, 2u);
  EXPECT_EQ(all.support(), 6u);                           // in the key
  EXPECT_EQ(all.true_positive + all.false_positive, 5u);  // in the answer
  EXPECT_DOUBLE_EQ(all.precision(), 2.0 / 5);
  EXPECT_DOUBLE_EQ(all.recall(), 2.0 / 6);
  EXPECT_DOUBLE_EQ(all.f1(), 4.0 / 11);
  EXPECT_DOUBLE_EQ(s.accuracy(), 7.0 / 11);
  EXPECT_EQ(s.words(), 11u);
  EXPECT_DOUBLE_EQ(s.types().at("PER").precision(), 0.5);
  EXPECT_DOUBLE_EQ(s.types().at("PER").recall(), 1);
  EXPECT_DOUBLE_EQ(s.types().at("LOC").recall(), 0.25);
  EXPECT_DOUBLE_EQ(s.types().at("LOC").precision(), 0.5);
  EXPECT_EQ(s.types().at("ORG").f1(), 0);
  EXPECT_EQ(s.types().size(), 3u);
}

TEST(EntityScores, OfNothingAreZero) {
  EntityScores s;
  s.add(split("O O"), split("O O"));
  EXPECT_EQ(s.all().f1(), 0);
  EXPECT_EQ(s.accuracy(), 1);
  EXPECT_TRUE(s.types().empty());
}

// Neighbours decide, so sentences do not run into each other.
TEST(EntityScores, SentencesEndEntities) {
  EntityScores s;
  s.add({"B-X"}, {"B-X"});
  s.add({"I-X"}, {"I-X"});
  EXPECT_EQ(s.all().true_positive, 2u);
}

}  // namespace
}  // namespace bertrain
