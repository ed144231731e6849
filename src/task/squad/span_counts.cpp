// Counts of questions by whether they have an answer, and of windows by start and end.
#include "task/squad/span_counts.h"

#include <fmt/format.h>

#include <string>

namespace bertrain {
namespace {

constexpr const char *kThere = "an answer", *kNone = "no answer";

class SpanCounts final : public TargetCounts {
 public:
  void add(const Example& example, bool begins_row) override {
    if (begins_row) questions_.add(kind(example));
    starts_.add(place(example, "start_position"));
    ends_.add(place(example, "end_position"));
  }
  std::string text() const override {
    if (questions_.total() == 0) return "";
    return fmt::format(
        "{} questions: {:.1f} % have an answer; answering none is right for {:.1f} %\n",
        questions_.total(), 100 * questions_.share(kThere), 100 * questions_.share(kNone));
  }
  double constant_loss() const override { return (starts_.entropy() + ends_.entropy()) / 2; }
  std::string kind(const Example& example) const override {
    return integers(example, "is_impossible").at(0) == 0 ? kThere : kNone;
  }

 private:
  static std::string place(const Example& example, const char* name) {
    return std::to_string(integers(example, name).at(0));
  }

  Frequencies questions_, starts_, ends_;
};

}  // namespace

std::unique_ptr<TargetCounts> make_squad_counts() { return std::make_unique<SpanCounts>(); }

}  // namespace bertrain
