// Tables row by row: the corners of TSV, CSV and JSON lines, bad rows, and damaged files.
#include "formats/rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Table = std::vector<std::vector<std::string>>;

struct Reading {
  std::vector<std::string> header;
  Table rows;
  std::vector<uint64_t> lines;
  RowCounts counts;
  std::string failure;
};

Reading read(std::string_view text, RowOptions options = {}, std::string uri = "mem://t.tsv") {
  write_text(uri, text);
  Reading r;
  try {
    auto reader = read_rows(uri, std::move(options));
    r.header = reader->header();
    try {
      for (std::vector<std::string> fields; reader->next(fields);) {
        r.rows.push_back(fields);
        r.lines.push_back(reader->line_number());
      }
    } catch (const Error& e) {
      r.failure = e.what();
    }
    r.counts = reader->counts();
  } catch (const Error& e) {
    r.failure = e.what();
  }
  return r;
}

RowOptions without_header() {
  RowOptions o;
  o.header = false;
  return o;
}

Reading read_csv(std::string_view text, RowOptions options = without_header()) {
  return read(text, std::move(options), "mem://t.csv");
}

Reading read_jsonl(std::string_view text, RowOptions options = {}) {
  return read(text, std::move(options), "mem://t.jsonl");
}

TEST(tsv, QuotesAreText) {
  Reading r = read("1\t\"He said\t0\n0\tshe said \"no\"\t1\n", without_header());
  EXPECT_EQ(r.rows, (Table{{"1", "\"He said", "0"}, {"0", "she said \"no\"", "1"}}));
  EXPECT_THAT(r.header, ElementsAre("1", "2", "3"));
}

TEST(tsv, ByteOrderMarkIsNoPartOfTheFirstField) {
  EXPECT_EQ(read("\xef\xbb\xbf"
                 "2\ttext\n",
                 without_header())
                .rows,
            (Table{{"2", "text"}}));
  EXPECT_THAT(read("\xef\xbb\xbf"
                   "label\ttext\n")
                  .header,
              ElementsAre("label", "text"));
}

TEST(tsv, BlankLinesAreCountedAndPassedOver) {
  Reading r = read("1\ta\n\n0\tb\n\n", without_header());
  EXPECT_EQ(r.rows, (Table{{"1", "a"}, {"0", "b"}}));
  EXPECT_THAT(r.lines, ElementsAre(1, 3));
  EXPECT_EQ(r.counts.blank, 2u);
  EXPECT_EQ(r.counts.rows, 2u);
  RowOptions keep = without_header();
  keep.blank_is_row = true;
  EXPECT_EQ(read("a\n\nb\n", keep).rows, (Table{{"a"}, {""}, {"b"}}));
  EXPECT_EQ(read("a\t1\n\nb\t2\n", keep).counts.blank, 1u);
}

TEST(tsv, NumberOfFields) {
  Reading r = read("q\ti1\ti2\ts1\ts2\n1\t2\t3\ta\tb\n1\t2\t3\ta\n");
  EXPECT_EQ(r.rows.size(), 1u);
  EXPECT_EQ(r.failure, "mem://t.tsv:3: 5 fields expected, 4 found");
  RowOptions skip;
  skip.skip_bad = true;
  r = read("a\tb\n1\n1\t2\n1\t2\t3\n", skip);
  EXPECT_EQ(r.rows, (Table{{"1", "2"}}));
  EXPECT_EQ(r.counts.bad, 2u);
  EXPECT_EQ(r.counts.first_bad, "mem://t.tsv:2: 2 fields expected, 1 found");
}

TEST(tsv, CarriageReturns) {
  EXPECT_EQ(read("1\ta\rb\n0\tc\n", without_header()).rows, (Table{{"1", "a\rb"}, {"0", "c"}}));
  Reading r = read("1\ta\r\n\r\n0\tb\r\n", without_header());
  EXPECT_EQ(r.rows, (Table{{"1", "a"}, {"0", "b"}}));
  EXPECT_EQ(r.counts.blank, 1u);
}

TEST(tsv, EmptyTextsAreRows) {
  EXPECT_EQ(read("1\t\n1\t   \n\t\n", without_header()).rows,
            (Table{{"1", ""}, {"1", "   "}, {"", ""}}));
}

TEST(tsv, InvalidUtf8IsTheCallersToJudge) {
  RowOptions o = without_header();
  o.repair = [](std::string& line, std::string_view place) -> bool {
    size_t bad = line.find('\xe9');
    if (bad == std::string::npos) return false;
    if (line[0] == '1') throw error("{}: invalid UTF-8 at byte {}", place, bad);
    line[bad] = '?';
    return true;
  };
  EXPECT_EQ(read("1\tcaf\xe9\n", o).failure, "mem://t.tsv:1: invalid UTF-8 at byte 5");
  o.skip_bad = true;
  Reading r = read("0\tcaf\xe9\n1\tcaf\xe9\n", o);
  EXPECT_EQ(r.rows, (Table{{"0", "caf?"}}));
  EXPECT_EQ(r.counts.bad, 1u);
  EXPECT_EQ(r.counts.repaired, 1u);
}

TEST(rows, EmptyFile) {
  EXPECT_THAT(read("").failure, HasSubstr("mem://t.tsv: the file is empty"));
  EXPECT_THAT(read("\n\n").failure, HasSubstr("the file is empty"));
  EXPECT_EQ(read("", without_header()).failure, "");
  EXPECT_EQ(read("a\tb\n").rows, Table{});
}

TEST(rows, ColumnsByNameOrNumber) {
  write_text("mem://t.tsv", "label\ttext\ttext\n");
  auto rows = read_rows("mem://t.tsv");
  EXPECT_EQ(find_column(*rows, "label"), 0u);
  EXPECT_EQ(find_column(*rows, "3"), 2u);
  for (const char* name : {"text", "0", "4", "Label", ""}) {
    EXPECT_THROW(find_column(*rows, name), Error) << name;
  }
}

TEST(csv, Quotes) {
  Reading r = read_csv("a,\"b,\"\"c\"\"\",\n\"two\nlines\",\"\",x\"y\"\r\n\"\",,\n");
  EXPECT_EQ(r.failure, "");
  EXPECT_EQ(r.rows, (Table{{"a", "b,\"c\"", ""}, {"two\nlines", "", "x\"y\""}, {"", "", ""}}));
  EXPECT_THAT(r.lines, ElementsAre(1, 2, 4));
  EXPECT_EQ(read_csv("\"\"\n").rows, (Table{{""}}));
}

TEST(csv, BadQuotes) {
  EXPECT_EQ(read_csv("a,b\n\"c,d\ne,f\n").failure,
            "mem://t.csv:2: a quote is opened and not closed");
  EXPECT_THAT(read_csv("a,b\n\"c\"d,e\n").failure,
              HasSubstr("mem://t.csv:2: text follows the closing quote of field 1"));
  RowOptions skip = without_header();
  skip.skip_bad = true;
  Reading r = read_csv("a,b\n\"c,d\ne,f\ng,h\n", skip);
  EXPECT_EQ(r.rows, (Table{{"a", "b"}, {"e", "f"}, {"g", "h"}}));
  EXPECT_THAT(r.lines, ElementsAre(1, 3, 4));
  EXPECT_EQ(r.counts.bad, 1u);
  r = read_csv("a,b\n\"c,d\n\"e\",f\ng,h\n", skip);  // the stray quote is closed by the next one
  EXPECT_EQ(r.rows, (Table{{"a", "b"}, {"e", "f"}, {"g", "h"}}));
  EXPECT_THAT(r.lines, ElementsAre(1, 3, 4));
}

TEST(jsonl, Values) {
  Reading r = read_jsonl(
      "{\"text\": \"a\\tb\\n\\u00e9\", \"label\": 1}\n\n"
      "{\"label\": null, \"text\": \"x\", \"more\": 0}\n"
      "{\"label\": [\"p\", \"q\"], \"text\": true}\n");
  EXPECT_EQ(r.failure, "");
  EXPECT_THAT(r.header, ElementsAre("text", "label"));
  EXPECT_EQ(r.rows, (Table{{"a\tb\n\xc3\xa9", "1"}, {"x", ""}, {"true", "[\"p\",\"q\"]"}}));
  EXPECT_THAT(r.lines, ElementsAre(1, 3, 4));
}

TEST(jsonl, BadRows) {
  EXPECT_THAT(read_jsonl("{\"a\": 1}\n{\"b\": 1}\n").failure,
              HasSubstr("mem://t.jsonl:2: key 'a' is missing"));
  EXPECT_THAT(read_jsonl("{\"a\": 1}\n{\"a\": \n").failure,
              HasSubstr("mem://t.jsonl:2:7: this is not JSON: "));
  EXPECT_THAT(read_jsonl("[1]\n").failure, HasSubstr("mem://t.jsonl:1: an object"));
  EXPECT_THAT(read_jsonl("{\"a\":" + std::string(100'000, '[') + "\n").failure,
              HasSubstr("mem://t.jsonl:1: nested deeper than 100 levels"));
  EXPECT_THAT(read_jsonl("{\"a\": \"\xe9\"}\n").failure,
              HasSubstr("mem://t.jsonl:1:9: this is not JSON"));
  EXPECT_THAT(read_jsonl("{}\n").failure, HasSubstr("no keys"));
  auto wide = [](int keys) {
    std::string line = "{\"a\": {\"k0\": 0";
    for (int i = 1; i < keys; ++i) line += ", \"k" + std::to_string(i) + "\": 0";
    return line + "}, \"b\": {\"c\": 1}}\n";
  };
  EXPECT_EQ(read_jsonl(wide(10'000)).failure, "");
  EXPECT_EQ(read_jsonl(wide(10'001)).failure, "mem://t.jsonl:1: an object of more than 10000 keys");
}

TEST(rows, AFormatForNamesThatDoNotTell) {
  RowOptions o = without_header();
  o.unnamed = RowFormat::csv;
  EXPECT_EQ(read("a,b\n", o, "mem://t").rows, (Table{{"a", "b"}}));
  EXPECT_EQ(read("a,b\n", o, "mem://t.tsv.gz").rows, (Table{{"a,b"}}));
}

TEST(rows, FormatByNameAndByFlag) {
  RowOptions o = without_header();
  EXPECT_EQ(read("a,b\n", o, "mem://t.CSV.gz").rows, (Table{{"a", "b"}}));
  EXPECT_EQ(read("a,b\n", o, "mem://t.txt").rows, (Table{{"a,b"}}));
  o.format = parse_row_format("csv");
  EXPECT_EQ(read("a,b\n", o, "mem://t.txt").rows, (Table{{"a", "b"}}));
  EXPECT_THROW(parse_row_format("xls"), Error);
  EXPECT_TRUE(parse_bad_rows("skip"));
  EXPECT_FALSE(parse_bad_rows("fail"));
  EXPECT_THROW(parse_bad_rows("drop"), Error);
}

TEST(rows, ARowMayBeRefusedByItsReader) {
  write_text("mem://t.tsv", "a\n1\n2\n3\n");
  RowOptions o;
  o.skip_bad = true;
  auto reader = read_rows("mem://t.tsv", o);
  std::vector<std::string> fields;
  reader->next(fields);
  reader->next(fields);
  reader->refuse(error("{}: of no use", reader->place()));
  reader->next(fields);
  EXPECT_EQ(reader->counts().rows, 2u);
  EXPECT_EQ(reader->counts().bad, 1u);
  EXPECT_EQ(reader->counts().first_bad, "mem://t.tsv:3: of no use");
  reader = read_rows("mem://t.tsv");
  reader->next(fields);
  EXPECT_THROW(reader->refuse(error("of no use")), Error);
}

TEST(rows, AnyBytesAreReadOrRefused) {
  const std::string sounds[] = {"a\tb\n1\t2\n3\t4\n", "a,b\n\"1\",2\n\"3\n\"\"\",4\n",
                                "{\"a\": 1, \"b\": [2]}\n{\"a\": \"x\", \"b\": {}}\n"};
  const char* names[] = {"mem://t.tsv", "mem://t.csv", "mem://t.jsonl"};
  const std::string_view alphabet = "\t\n\r\",{}[]:\\ a1\xff";
  std::mt19937 random(5);
  for (int i = 0; i < 6'000; ++i) {
    std::string text = sounds[i % 3];
    for (int edits = 0; edits < 3; ++edits) {
      text[random() % text.size()] = alphabet[random() % alphabet.size()];
    }
    RowOptions o;
    o.skip_bad = random() % 2;
    o.header = random() % 2;
    Reading r = read(text, o, names[i % 3]);
    EXPECT_LE(r.rows.size(), text.size());
    for (const auto& row : r.rows) EXPECT_EQ(row.size(), r.header.size());
  }
}

}  // namespace
}  // namespace bertrain
