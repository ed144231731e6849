// Columns of choices: what is found, what is refused, which labels are known.
#include "task/choice/choice_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr const char* kFile = "mem://choices/rows.csv";
const ChoiceColumns kUsual = {"sent1", "sent2", "label", "", "ending", true};

std::vector<ChoiceRow> read(const std::string& text, const ChoiceColumns& columns = kUsual,
                            ChoiceLabels labels = ChoiceLabels::needed, bool header = true,
                            bool skip_bad = false) {
  write_text(kFile, text);
  RowOptions options;
  options.header = header;
  options.skip_bad = skip_bad;
  ChoiceRowReader reader(kFile, columns, options, labels);
  std::vector<ChoiceRow> rows;
  ChoiceRow row;
  while (reader.next(row)) {
    EXPECT_EQ(std::ssize(row.choices), reader.choices());
    rows.push_back(row);
  }
  return rows;
}

// What is told of a file; its code is looked at too.
std::string fault(const std::string& text, const ChoiceColumns& columns = kUsual,
                  ChoiceLabels labels = ChoiceLabels::needed, ExitCode code = ExitCode::usage) {
  try {
    read(text, columns, labels);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    return e.what();
  }
  return "nothing";
}

TEST(ChoiceRows, ColumnsAsSwags) {
  auto rows = read("id,sent2,ending1,ending0,label,sent1\nx,He,sits,stands,1,A man.\n");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].context, "A man.");
  EXPECT_THAT(rows[0].choices, ElementsAre("He stands", "He sits"));
  EXPECT_EQ(rows[0].label, 1);
  EXPECT_EQ(rows[0].id, "");
  EXPECT_EQ(rows[0].line, 2u);
  EXPECT_THAT(read("sent1,ending0,ending1,label\nc,a,b,0\n").at(0).choices, ElementsAre("a", "b"));
}

TEST(ChoiceRows, RowsWithoutALabelOrAChoiceAreBadRows) {
  std::string text = "sent1,ending0,ending1,label\nc,a,b,0\nc,a,b,\nc,a,b,2\nc,,b,0\nd,a,b,1\n";
  EXPECT_THAT([&] { read(text); },
              ThrowsMessage<Error>(HasSubstr("rows.csv:3: the label is empty")));
  auto rows = read(text, kUsual, ChoiceLabels::needed, true, true);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].context, "d");
}

TEST(ChoiceRows, ColumnsByNameAndByNumber) {
  ChoiceColumns own = {"c", "", "y", "n", "a2,a1"};
  auto rows = read("n,y,c,a1,a2,a3\nx,0,text,one,two,three\n", own);
  EXPECT_THAT(rows.at(0).choices, ElementsAre("two", "one"));
  EXPECT_EQ(rows.at(0).id, "x");
  ChoiceColumns numbers = {"3", "", "2", "1", "4,5,6"};
  rows = read("x,2,text,one,two,three\n", numbers, ChoiceLabels::needed, false);
  EXPECT_THAT(rows.at(0).choices, ElementsAre("one", "two", "three"));
  EXPECT_EQ(rows.at(0).label, 2);
}

TEST(ChoiceRows, LabelsAreNeededToLearn) {
  auto told = [](const std::string& label) {
    return fault("sent1,ending0,ending1,label\nc,a,b," + label + "\n", kUsual, ChoiceLabels::needed,
                 ExitCode::failed);
  };
  EXPECT_THAT(told(""), HasSubstr("rows.csv:2: the label is empty"));
  for (const char* label : {"2", "-1", "1.0", "a"}) {
    EXPECT_THAT(told(label), HasSubstr("the number of the right choice, 0 to 1, expected"));
  }
}

TEST(ChoiceRows, LabelsAreNotNeededToPredict) {
  auto label = [](const std::string& text, ChoiceLabels labels = ChoiceLabels::optional) {
    return read(text, kUsual, labels).at(0).label;
  };
  EXPECT_EQ(label("sent1,ending0,ending1\nc,a,b\n"), -1);
  for (const char* unknown : {"", "-1", "2", "x"}) {
    EXPECT_EQ(label(std::string("sent1,ending0,ending1,label\nc,a,b,") + unknown + "\n"), -1);
  }
  EXPECT_EQ(label("sent1,ending0,ending1,label\nc,a,b, 1\n"), 1);
  EXPECT_EQ(label("sent1,ending0,ending1,label\nc,a,b,-1\n", ChoiceLabels::sought), -1);
  EXPECT_THAT(
      fault("sent1,ending0,ending1\nc,a,b\n", kUsual, ChoiceLabels::sought, ExitCode::failed),
      HasSubstr("no column 'label'"));
  // The label's column of other files has a text here.
  ChoiceColumns numbers = {"1", "", "1", "", "2,3"};
  EXPECT_EQ(read("0,a,b\n", numbers, ChoiceLabels::optional, false).at(0).label, -1);
}

TEST(ChoiceRows, AColumnIsOneThing) {
  const std::string table = "c,q,y,a,b\n1,1,1,1,1\n";
  auto of = [](const char* context, const char* question, const char* label, const char* choices) {
    return ChoiceColumns{context, question, label, "", choices};
  };
  EXPECT_THAT(fault(table, of("c", "q", "y", "a,b,a")),
              HasSubstr("rows.csv: column 4 ('a') is twice among the choices"));
  EXPECT_THAT(fault(table, of("c", "q", "y", "a,4")), HasSubstr("twice among the choices"));
  EXPECT_THAT(fault(table, of("c", "q", "y", "a,y")),
              HasSubstr("column 3 ('y') is both a choice and the label"));
  EXPECT_THAT(fault(table, of("c", "q", "y", "c,a")),
              HasSubstr("column 1 ('c') is both the context and a choice"));
  EXPECT_THAT(fault(table, of("c", "q", "y", "q,a")), HasSubstr("the beginning of the choices"));
  EXPECT_THAT(fault(table, of("y", "q", "y", "a,b")), HasSubstr("both a text and the label"));
  EXPECT_THAT(fault(table, of("c", "y", "y", "a,b")), HasSubstr("both a text and the label"));
}

TEST(ChoiceRows, TellsWhatIsWrong) {
  auto told = [](const std::string& text) {
    return fault(text, kUsual, ChoiceLabels::needed, ExitCode::failed);
  };
  EXPECT_THAT(told("sent1,ending0,label\nc,a,0\n"),
              HasSubstr("1 columns of choices (--choice_columns=ending); 2 to 64 expected"));
  EXPECT_THAT(told("sent1,ending0,ending1,label\nc,a, ,0\n"),
              HasSubstr("rows.csv:2: choice 1 ('ending1') is empty"));
  EXPECT_THAT(told("ending0,ending1,label\na,b,0\n"), HasSubstr("no column 'sent1'"));
  std::string many = "sent1,label", row = "\nc,0";
  for (size_t i = 0; i <= kMostChoices; ++i) {
    many += ",ending" + std::to_string(i);
    row += ",a";
  }
  EXPECT_THAT(told(many + row), HasSubstr("65 columns of choices"));
}

// No columns, no rows.
TEST(ChoiceRows, AnEmptyFileWithoutAHeader) {
  EXPECT_TRUE(read("", {"1", "", "2", "", "3,4"}, ChoiceLabels::optional, false).empty());
}

}  // namespace
}  // namespace bertrain
