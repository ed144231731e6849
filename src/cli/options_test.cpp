// Tests of option parsing: absl's syntax, TOML first, and messages that name the way out.
#include "cli/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/error.h"
#include "cli/command.h"

namespace bertrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Sample {
  std::string vocab_file;
  int64_t max_seq_length = 128;
  double learning_rate = 5e-5;
  bool do_lower_case = true;
  bool notes = false;

  EachOption each() {
    return [this](OptionVisitor& v) {
      v("vocab_file", vocab_file, "one piece a line");
      v("max_seq_length", max_seq_length, "longest example in tokens");
      v("learning_rate", learning_rate, "peak rate");
      v("do_lower_case", do_lower_case, "lower-case and strip accents");
      v("notes", notes, "begins like a negation");
    };
  }
};

std::vector<std::string> parse(Sample& s, std::vector<std::string_view> args) {
  return parse_options(args, s.each());
}

std::string message_of(std::vector<std::string_view> args) {
  Sample s;
  try {
    parse_only_options(args, s.each());
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::usage);
    return e.what();
  }
  return "no error";
}

std::string write_config(const std::string& text) {
  std::string path = testing::TempDir() + "options_test_" +
                     testing::UnitTest::GetInstance()->current_test_info()->name() + ".toml";
  std::ofstream(path) << text;
  return path;
}

TEST(Options, TakesEverySpelling) {
  Sample s;
  EXPECT_THAT(parse(s, {"--vocab-file=v.txt", "-max_seq_length", "64", "--learning_rate", "-1e-3",
                        "--nodo_lower_case", "--notes"}),
              IsEmpty());
  EXPECT_EQ(s.vocab_file, "v.txt");
  EXPECT_EQ(s.max_seq_length, 64);
  EXPECT_EQ(s.learning_rate, -1e-3);
  EXPECT_FALSE(s.do_lower_case);
  EXPECT_TRUE(s.notes);
}

TEST(Options, LastOneWins) {
  Sample s;
  parse(s,
        {"--max_seq_length=1", "--do_lower_case=false", "--max-seq-length=2", "--do-lower-case"});
  EXPECT_EQ(s.max_seq_length, 2);
  EXPECT_TRUE(s.do_lower_case);
}

TEST(Options, BooleanWordsInAnyCase) {
  for (std::string_view yes : {"true", "True", "t", "T", "1"}) {
    Sample s;
    parse(s, {std::string("--notes=") + std::string(yes)});
    EXPECT_TRUE(s.notes) << yes;
  }
  for (std::string_view no : {"false", "FALSE", "f", "F", "0"}) {
    Sample s;
    std::string arg = "--do_lower_case=" + std::string(no);
    parse(s, {arg});
    EXPECT_FALSE(s.do_lower_case) << no;
  }
  EXPECT_THAT(message_of({"--notes=yes"}), HasSubstr("--notes=yes: true or false expected"));
  EXPECT_THAT(message_of({"--nonotes=true"}), HasSubstr("--nonotes takes no value"));
}

TEST(Options, ABooleanMayBeAbsent) {
  std::optional<bool> strip;
  EachOption each = [&](OptionVisitor& v) {
    v("strip_accents", strip, "absent: as do_lower_case");
  };
  EXPECT_EQ(options_to_json(each).dump(), R"({"strip_accents":null})");
  EXPECT_THAT(describe_options(each), HasSubstr("--strip_accents=   "));
  parse_options(std::vector<std::string_view>{"--nostrip_accents"}, each);
  EXPECT_EQ(strip, false);
  std::string arg = "--config=" + write_config("strip_accents = true\n");
  parse_options(std::vector<std::string_view>{arg}, each);
  EXPECT_EQ(strip, true);
  EXPECT_EQ(options_to_json(each).dump(), R"({"strip_accents":true})");
}

TEST(Options, PositionalsAreReturnedOrRefused) {
  Sample s;
  EXPECT_THAT(parse(s, {"a", "--notes", "b", "-", "--", "--x"}), ElementsAre("a", "b", "-", "--x"));
  EXPECT_THAT(message_of({"--notes", "false"}), HasSubstr("stray argument 'false'"));
}

TEST(Options, NumbersMustParseWhole) {
  for (std::string_view bad : {"1e3", "12x", "", " 1", "1.0", "9223372036854775808", "+-1"}) {
    std::string arg = "--max_seq_length=" + std::string(bad);
    EXPECT_THAT(message_of({arg}), HasSubstr("a whole number expected")) << bad;
  }
  for (std::string_view bad : {"nan", "inf", "1e999", "0.1f", ""}) {
    std::string arg = "--learning_rate=" + std::string(bad);
    EXPECT_THAT(message_of({arg}), HasSubstr("a finite number expected")) << bad;
  }
  Sample s;
  parse(s, {"--max_seq_length=+7", "--learning_rate=.5"});
  EXPECT_EQ(s.max_seq_length, 7);
  EXPECT_EQ(s.learning_rate, 0.5);
}

TEST(Options, UnknownNamesItsNeighbour) {
  EXPECT_THAT(message_of({"--max_seq_len=3"}),
              HasSubstr("no option --max_seq_len; did you mean --max_seq_length?"));
  EXPECT_THAT(message_of({"--entirely_else=3"}), HasSubstr("--help lists them"));
  EXPECT_THAT(message_of({"--nomax_seq_length"}), HasSubstr("no option"));
  EXPECT_THAT(message_of({"--vocab_file"}), HasSubstr("--vocab_file needs a value"));
}

TEST(Options, ConfigIsReadFirst) {
  std::string path = write_config(
      "vocab_file = ['a.txt', 'b.txt']\nmax-seq-length = 32\nlearning_rate = 1\nnotes = true\n");
  Sample s;
  std::string arg = "--config=" + path;
  parse(s, {"--max_seq_length=64", arg});
  EXPECT_EQ(s.vocab_file, "a.txt,b.txt");
  EXPECT_EQ(s.max_seq_length, 64);
  EXPECT_EQ(s.learning_rate, 1);
  EXPECT_TRUE(s.notes);
}

TEST(Options, ConfigErrorsNameTheLine) {
  std::pair<const char*, const char*> cases[] = {
      {"notes = true\nmax_seq_len = 3\n",
       ":2: max_seq_len: no such option; did you mean --max_seq_length?"},
      {"max_seq_length = 1.5\n", ":1: max_seq_length: a whole number expected"},
      {"max_seq_length = '1'\n", ":1: max_seq_length: a whole number expected"},
      {"learning_rate = nan\n", ":1: learning_rate: a finite number expected"},
      {"notes = 1\n", ":1: notes: true or false expected"},
      {"vocab_file = [1]\n", ":1: vocab_file: a list of strings expected"},
      {"[pretrain]\nnotes = true\n", "not in a table"},
      {"notes = true\n= 3\n", ":2: "},
  };
  for (auto [text, expected] : cases) {
    std::string arg = "--config=" + write_config(text);
    EXPECT_THAT(message_of({arg}), HasSubstr(expected)) << text;
  }
  EXPECT_THAT(message_of({"--config=/nowhere/x.toml"}), HasSubstr("/nowhere/x.toml"));
}

TEST(Options, HelpAndJsonShowEveryOption) {
  Sample s;
  Command command = {"sample", "does things", "bertrain sample --notes\nbertrain sample", nullptr};
  std::ostringstream out;
  print_help(command, s.each(), out);
  EXPECT_THAT(out.str(), HasSubstr("bertrain sample: does things"));
  EXPECT_THAT(out.str(), HasSubstr("  bertrain sample --notes\n  bertrain sample\n"));
  EXPECT_THAT(out.str(), HasSubstr("--learning_rate=5e-05"));
  EXPECT_THAT(out.str(), HasSubstr("longest example in tokens"));
  EXPECT_EQ(
      options_to_json(s.each()).dump(),
      R"({"vocab_file":"","max_seq_length":128,"learning_rate":5e-05,"do_lower_case":true,"notes":false})");
}

TEST(Options, HelpIsWantedBeforeTheEndOfOptions) {
  EXPECT_TRUE(wants_help(std::vector<std::string_view>{"x", "-h"}));
  EXPECT_TRUE(wants_help(std::vector<std::string_view>{"--help"}));
  EXPECT_FALSE(wants_help(std::vector<std::string_view>{"--", "--help"}));
}

TEST(Options, NearestKeepsItsDistance) {
  EXPECT_EQ(nearest("versoin", {"vocab", "version"}), "version");
  EXPECT_EQ(nearest("zzz", {"vocab", "version"}), "");
}

}  // namespace
}  // namespace bertrain
