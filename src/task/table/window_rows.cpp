// Windows wait until the last one of their row is there.
#include "task/table/window_rows.h"

#include <map>
#include <utility>
#include <vector>

#include "base/error.h"

namespace bertrain {
namespace {

using Values = Named<std::vector<float>>;  // by prediction, without the loss

// Predictions of finished rows, as a batch has them.
struct Finished {
  Batch batch;  // row and notes alone
  Values values;
  std::vector<float> loss;

  void add(int64_t row, Example notes, const Values& of_row, float row_loss) {
    batch.row.push_back(row);
    batch.notes.push_back(std::move(notes));
    for (const auto& [name, mine] : of_row) {
      std::vector<float>& all = values[name];
      all.insert(all.end(), mine.begin(), mine.end());
    }
    loss.push_back(row_loss);
  }
};

// Of one example of a batch.
Values values_of(const Named<Array>& predictions, size_t example, size_t width) {
  Values values;
  for (const auto& [name, array] : predictions) {
    if (name == "loss") continue;
    auto mine = array.as<float>().subspan(example * width, width);
    values[name].assign(mine.begin(), mine.end());
  }
  return values;
}

Values mean_of(const std::vector<Values>& windows) {
  Values means;
  for (const auto& [name, first] : windows[0]) {
    for (size_t i = 0; i < first.size(); ++i) {
      double sum = 0;
      for (const Values& window : windows) sum += static_cast<double>(window.at(name)[i]);
      means[name].push_back(static_cast<float>(sum / static_cast<double>(windows.size())));
    }
  }
  return means;
}

class WindowRows final : public Rows {
 public:
  explicit WindowRows(std::shared_ptr<const TextTarget> target)
      : target_(std::move(target)), rows_(target_->rows()) {}

  void add(const Batch& batch, const Named<Array>& predictions) override {
    check(batch.notes.size() == batch.row.size(), "rows need the notes of their batch");
    auto loss = predictions.at("loss").as<float>();  // [E]; the others are [E, C] or [E]
    auto width = static_cast<size_t>(target_->outputs());
    Finished finished;
    for (size_t e = 0; e < batch.row.size(); ++e) {
      Values mine = values_of(predictions, e, width);
      if (!batch.notes[e].contains("window")) {
        finished.add(batch.row[e], batch.notes[e], mine, loss[e]);
      } else if (take(batch.row[e], integers(batch.notes[e], "window"), std::move(mine))) {
        finish(batch.row[e], batch.notes[e], finished);
      }
    }
    auto rows = static_cast<int64_t>(finished.batch.row.size());
    if (rows == 0) return;
    Named<Array> means = {{"loss", make_array({rows}, finished.loss)}};
    for (const auto& [name, values] : finished.values) {
      Shape shape = predictions.at(name).type.shape;
      shape[0] = rows;
      means.emplace(name, make_array(shape, values));
    }
    rows_->add(finished.batch, means);
  }

  std::optional<Example> next() override { return rows_->next(); }

 private:
  struct Started {
    std::vector<Values> windows;
    size_t missing = 0;
  };

  // Whether it was the last one.
  bool take(int64_t row, const std::vector<int64_t>& window, Values values) {
    Started& started = started_[row];
    if (started.windows.empty()) {
      started.missing = static_cast<size_t>(window.at(1));
      started.windows.resize(started.missing);
    }
    Values& place = started.windows.at(static_cast<size_t>(window.at(0)));
    check(place.empty(), "a window comes once");
    place = std::move(values);
    return --started.missing == 0;
  }

  void finish(int64_t row, Example notes, Finished& finished) {
    auto started = started_.find(row);
    Values means = mean_of(started->second.windows);
    started_.erase(started);
    notes.erase("window");
    auto scored = means.find("probabilities");
    if (scored == means.end()) scored = means.find("value");
    check(scored != means.end(), "a loss is that of probabilities or of a value");
    float loss = notes.contains("gold") ? target_->loss_of(notes, scored->second) : 0;
    finished.add(row, std::move(notes), means, loss);
  }

  std::shared_ptr<const TextTarget> target_;
  std::unique_ptr<Rows> rows_;
  std::map<int64_t, Started> started_;  // by row
};

}  // namespace

std::unique_ptr<Rows> make_window_rows(std::shared_ptr<const TextTarget> target) {
  return std::make_unique<WindowRows>(std::move(target));
}

}  // namespace bertrain
