// Rows drawn into parts: what is counted, said and refused.
#include "task/share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error_message.h"
#include "base/log.h"

namespace bertrain {
namespace {

using testing::HasSubstr;
using Part = RowDraw::Part;

struct Log {
  std::string text;
  LogSink sink{[this](std::string_view line) { text += std::string(line) + "\n"; }};
};

TEST(RowDraw, EveryRowIsInOnePartAndInTheSameAlways) {
  Log log;
  RowDraw draw("t.tsv", "row", 0.3, 0.5);
  int held_out = 0, trained = 0;
  for (int i = 0; i < 1000; ++i) {
    std::string text = "row " + std::to_string(i);
    Part part = draw.part_of(text);
    EXPECT_EQ(part == Part::held_out, is_in_share(text, 0.3, Draw::held_out));
    held_out += part == Part::held_out;
    trained += part == Part::trained;
  }
  draw.require_rows();
  draw.report_held_out();
  EXPECT_THAT(log.text, HasSubstr(fmt::format("t.tsv: {} rows are left out (--train_fraction=0.5)",
                                              1000 - held_out - trained)));
  EXPECT_THAT(log.text, HasSubstr(fmt::format("t.tsv: {} rows are held out to evaluate on "
                                              "(--dev_fraction=0.3), {} are trained on",
                                              held_out, trained)));
}

TEST(RowDraw, SaysWhereNothingIsLeft) {
  RowDraw none("t.conll", "sentence", 0.1, 1);
  EXPECT_EQ(message_of([&] { none.require_rows(); }), "t.conll: there is no sentence to train on");
  RowDraw all("t.tsv", "row", 1, 1);
  EXPECT_EQ(all.part_of("a"), Part::held_out);
  EXPECT_THAT(message_of([&] { all.require_rows(); }),
              HasSubstr("no row is left to train on: --dev_fraction=1 holds out 1"));
  Log log;
  RowDraw few("t.tsv", "row", 1e-6, 1);
  EXPECT_EQ(few.part_of("a"), Part::trained);
  few.require_rows();
  few.report_held_out();
  EXPECT_THAT(log.text, HasSubstr("no row of so few was held out"));
}

}  // namespace
}  // namespace bertrain
