// Pickles: every opcode that is read, and those that are broken, deep or malicious.
#include "formats/pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/error_message.h"

namespace bertrain {
namespace {

using namespace std::string_literals;
using testing::HasSubstr;

void allow(const std::string& name) {
  if (name != "m.f") throw error("global {}", name);
}

// The value as Python would print it, with calls as m.f(…){what was set in it}.
std::string shown(const Pickle& p, PickleId id) {
  const PickleValue& v = p.at(id);
  std::string text;
  auto joined = [&](size_t from) {
    std::string all;
    for (size_t i = from; i < v.items.size(); ++i)
      all += (i > from ? "," : "") + shown(p, v.items[i]);
    return all;
  };
  switch (v.kind) {
    case PickleKind::none:
      return "None";
    case PickleKind::boolean:
      return v.number ? "True" : "False";
    case PickleKind::integer:
      return std::to_string(v.number);
    case PickleKind::real:
      return "real";
    case PickleKind::text:
      return "'" + v.text + "'";
    case PickleKind::bytes:
      return "b" + std::to_string(v.text.size());
    case PickleKind::tuple:
      return "(" + joined(0) + ")";
    case PickleKind::list:
      return "[" + joined(0) + "]";
    case PickleKind::set:
      return "<" + joined(0) + ">";
    case PickleKind::dict:
      return "{" + joined(0) + "}";
    case PickleKind::global:
      return v.text;
    case PickleKind::call:
      return shown(p, v.items[0]) + shown(p, v.items[1]) + "{" + joined(2) + "}";
    case PickleKind::persistent:
      return "at " + shown(p, v.items[0]);
  }
  return text;
}

std::string read(const std::string& text) {
  Pickle pickle = read_pickle(text, allow);
  return shown(pickle, pickle.root);
}

std::string refused(const std::string& text) {
  return message_of([&] { read_pickle(text, allow); });
}

TEST(Pickle, Values) {
  EXPECT_EQ(read("\x80\x02N."s), "None");
  EXPECT_EQ(read("\x80\x02(\x88\x89t."s), "(True,False)");
  EXPECT_EQ(read("(K\xffM\xff\xffJ\xfe\xff\xff\xfft."s), "(255,65535,-2)");
  EXPECT_EQ(read("(\x8a\x00\x8a\x01\xff\x8a\x02\xff\x00t."s), "(0,-1,255)");
  EXPECT_EQ(read("\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80."s), "-9223372036854775808");
  EXPECT_EQ(read("\x8b\x0a\x00\x00\x00\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."s), "b10");
  EXPECT_EQ(read("G\x3f\xf0\x00\x00\x00\x00\x00\x00."s), "real");
  EXPECT_EQ(read("(X\x02\x00\x00\x00hiU\x01xT\x01\x00\x00\x00y\x8c\x01zt."s), "('hi','x','y','z')");
  EXPECT_EQ(read("\x8d\x01\x00\x00\x00\x00\x00\x00\x00w."s), "'w'");
  EXPECT_EQ(read("(C\x02\x00\x01"
                 "B\x01\x00\x00\x00x\x8e\x00\x00\x00\x00\x00\x00\x00\x00"
                 "\x96\x01\x00\x00\x00\x00\x00\x00\x00yt."s),
            "(b2,b1,b0,b1)");
}

TEST(Pickle, Containers) {
  EXPECT_EQ(read("(K\x01\x85K\x02K\x03\x86NNN\x87)t."s), "((1),(2,3),(None,None,None),())");
  EXPECT_EQ(read("](K\x01K\x02"
                 "eK\x03"
                 "a."s),
            "[1,2,3]");
  EXPECT_EQ(read("}(K\x01K\x02K\x03K\x04uK\x05K\x06s."s), "{1,2,3,4,5,6}");
  EXPECT_EQ(read("((K\x01K\x02"
                 "dK\x01(K\x02l(K\x03\x91\x8f(K\x04\x90t."s),
            "({1,2},1,[2],<3>,<4>)");
  EXPECT_EQ(read("(K\x01K\x02"
                 "0K\x03"
                 "2(K\x09"
                 "1t."s),
            "(1,3,3)");
}

TEST(Pickle, Memo) {
  EXPECT_EQ(read("(K\x05q\x00K\x06r\x01\x00\x00\x00h\x01h\x00j\x00\x00\x00\x00t."s), "(5,6,6,5,5)");
  EXPECT_EQ(read("(K\x05\x94K\x06\x94h\x01h\x00t."s), "(5,6,6,5)");
  EXPECT_EQ(read("(K\x05p0\ng0\nt."s), "(5,5)");
  // A list that contains itself is a value like any other.
  Pickle self = read_pickle(
      "]q\x00h\x00"
      "a."s,
      allow);
  EXPECT_EQ(self.top().items.at(0), self.root);
}

TEST(Pickle, CallsAreWrittenDown) {
  EXPECT_EQ(read("cm\nf\n(K\x01tR."s), "m.f(1){}");
  EXPECT_EQ(read("\x8c\x01m\x8c\x01"
                 "f\x93)\x81."s),
            "m.f(){}");
  EXPECT_EQ(read("cm\nf\n)}\x92."s), "m.f(){}");
  EXPECT_EQ(read("cm\nf\n)R(K\x01K\x02uN"
                 "b."s),
            "m.f(){1,2}");
  EXPECT_EQ(read("(U\x01xNtQ."s), "at ('x',None)");
  EXPECT_EQ(refused("cos\nsystem\n(U\x01xtR."s), "global os.system");
  EXPECT_EQ(refused("\x8c\x02os\x8c\x06system\x93."s), "global os.system");
}

TEST(Pickle, BrokenOnesSayWhereAndWhy) {
  EXPECT_EQ(refused(""s), "pickle, byte 0: truncated: 1 bytes are missing");
  EXPECT_EQ(refused("\x80\x02N"s), "pickle, byte 3: truncated: 1 bytes are missing");
  EXPECT_EQ(refused("X\xff\xff\xff\xffx"s),
            "pickle, byte 0: truncated: 4294967294 bytes are missing");
  EXPECT_THAT(refused("\x8d\xff\xff\xff\xff\xff\xff\xff\xffx."s), HasSubstr("truncated"));
  EXPECT_THAT(refused("\x95\xff\xff\xff\xff\xff\xff\xff\xffN."s),
              HasSubstr("the frame does not end"));
  EXPECT_THAT(refused("\x80\x06N."s), HasSubstr("protocol 6, at most 5 is read"));
  EXPECT_THAT(refused("cm\nf"s), HasSubstr("the line does not end"));
  EXPECT_THAT(refused("."s), HasSubstr("a value is missing on the stack"));
  EXPECT_THAT(refused("K\x01(0"
                      "\x86."s),
              HasSubstr("values are missing"));
  EXPECT_THAT(refused("K\x01(\x85t."s), HasSubstr("values are missing"));  // not from below a mark
  EXPECT_THAT(refused("t."s), HasSubstr("a mark is missing"));
  EXPECT_THAT(refused("NN."s), HasSubstr("left over"));
  EXPECT_THAT(refused("(N."s), HasSubstr("left over"));
  EXPECT_THAT(refused("}(Nu."s), HasSubstr("a key without a value"));
  EXPECT_THAT(refused("}Na."s), HasSubstr("cannot hold them"));
  EXPECT_THAT(refused("NNNs."s), HasSubstr("cannot hold them"));
  EXPECT_THAT(refused("NNb."s), HasSubstr("attributes are set in what has none"));
  EXPECT_THAT(refused("N)R."s), HasSubstr("what is called is no function"));
  EXPECT_THAT(refused("cm\nf\nNR."s), HasSubstr("its arguments are no tuple"));
  EXPECT_THAT(refused("cm\nf\n)}NNs\x92."s), HasSubstr("named arguments"));
  EXPECT_THAT(refused("NN\x93."s), HasSubstr("the name of a global is no text"));
  EXPECT_THAT(refused("h\x00."s), HasSubstr("nothing has the number 0 in the memo"));
  EXPECT_THAT(refused("Nr\xff\xff\xff\xff."s), HasSubstr("number 4294967295 in the memo"));
  EXPECT_THAT(refused("Np-1\n."s), HasSubstr("a number expected"));
  EXPECT_THAT(refused("(i__main__\nX\n."s), HasSubstr("opcode 0x69 is not read"));
  EXPECT_THAT(refused("\x82\x01."s), HasSubstr("opcode 0x82 is not read"));
}

TEST(Pickle, DepthAndNumberAreBounded) {
  EXPECT_THAT(refused(std::string(1 << 20, '(')), HasSubstr("nested too deeply"));
  EXPECT_THAT(refused(std::string(5 << 20, 'N')), HasSubstr("more than 4194304 values"));
  EXPECT_THAT(refused("N" + std::string(5 << 20, '2')), HasSubstr("more than 4194304 values"));
  // A million tuples, one in the other: no recursion builds or frees them.
  EXPECT_EQ(read_pickle("N" + std::string(1 << 20, '\x85') + ".", allow).values.size(),
            (size_t{1} << 20) + 1);
}

TEST(Pickle, SeveralFollowEachOther) {
  std::string two = "\x80\x02K\x01.\x80\x02K\x02.";
  Pickle first = read_pickle(two, allow);
  EXPECT_EQ(first.bytes, 5u);
  EXPECT_EQ(read(two.substr(first.bytes)), "2");
}

}  // namespace
}  // namespace bertrain
