// Batches and tasks of the tiny reference BERT.
#include "tiny_bert.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "model/bert.h"
#include "model/heads.h"
#include "storage/storage.h"
#include "tensor/ops/ops.h"

namespace bertrain {
namespace {

// What both tasks share: no files, no rows, no scores.
class GoldenTask : public Task {
 public:
  explicit GoldenTask(BertConfig config) : config_(config) {}
  std::vector<std::string> splits() const override { return {"train"}; }
  ExampleStream examples(std::string_view) const override { return nullptr; }
  std::optional<uint64_t> count(std::string_view) const override { return std::nullopt; }
  int64_t max_seq_length() const override { return 24; }
  std::unique_ptr<Rows> rows() const override { return nullptr; }
  std::unique_ptr<Scorer> scorer() const override { return nullptr; }
  Json describe() const override { return {}; }

 protected:
  // Hidden vectors and pooled output, also as predictions.
  Tensor encode(const Scope& s, const Inputs& b, Outputs& out) const {
    Slots slots{b.at("input_ids"), b.at("segment_ids"), b.at("position"),
                b.at("example"),   b.at("is_key"),      b.at("number")};
    Tensor hidden = bert(s, config_, slots);
    out.predictions["sequence_output"] = convert(hidden, DType::f32);
    return hidden;
  }
  Tensor pool(const Scope& s, const Inputs& b, Tensor hidden, Outputs& out) const {
    Tensor pooled = pooled_output(s, config_, hidden, b.at("first_slot"));
    out.predictions["pooled_output"] = convert(pooled, DType::f32);
    return pooled;
  }
  BertConfig config_;
};

class GoldenPretraining : public GoldenTask {
 public:
  using GoldenTask::GoldenTask;
  int64_t max_targets() const override { return 4; }
  Schema schema() const override {
    return {{"masked_lm_ids", {DType::i32, Axis::target, {}}},
            {"masked_lm_weights", {DType::f32, Axis::target, {}}},
            {"next_sentence_labels", {DType::i32, Axis::example, {}}}};
  }
  std::vector<LossTerm> terms() const override {
    return {{"masked_lm_loss", Axis::target, "masked_lm_weights", 1e-5},
            {"next_sentence_loss", Axis::example, "example_weight", 0}};
  }
  Outputs build(const Scope& s, const Inputs& b) const override {
    Outputs out;
    Tensor hidden = encode(s, b, out);
    Tensor pooled = pool(s, b, hidden, out);
    Tensor words = masked_lm_logits(s, config_, hidden, b.at("target_slot"));
    Tensor next = next_sentence_logits(s, config_, pooled);
    out.losses["masked_lm_loss"] = softmax_cross_entropy(words, b.at("masked_lm_ids")).loss;
    out.losses["next_sentence_loss"] =
        softmax_cross_entropy(next, b.at("next_sentence_labels")).loss;
    out.predictions["masked_lm_logits"] = words;
    out.predictions["next_sentence_logits"] = next;
    return out;
  }
};

class GoldenClassification : public GoldenTask {
 public:
  using GoldenTask::GoldenTask;
  int64_t max_targets() const override { return 0; }
  Schema schema() const override { return {{"label_ids", {DType::i32, Axis::example, {}}}}; }
  std::vector<LossTerm> terms() const override {
    return {{"loss", Axis::example, "example_weight", 0}};
  }
  Outputs build(const Scope& s, const Inputs& b) const override {
    Outputs out;
    Tensor pooled = pool(s, b, encode(s, b, out), out);
    // The golden's run had every dropout off, also the classifier's fixed one.
    ClassifierHead head{3, config_.hidden_dropout_prob};
    Tensor logits = classifier_logits(s, head, pooled, b.at("example_number"));
    out.losses["loss"] = softmax_cross_entropy(logits, b.at("label_ids")).loss;
    out.predictions["logits"] = logits;
    return out;
  }
};

// Columns of a batch while it is being filled.
struct Columns {
  Named<std::vector<int32_t>> integers;
  Named<std::vector<uint32_t>> counters;
  Named<std::vector<float>> reals;
};

}  // namespace

std::vector<NamedBackend> golden_backends() {
  return {{"reference", [] { return make_reference_backend(); }},
          {"cpu", [] { return make_cpu_backend({}); }}};
}

std::string golden_path(const std::string& name) {
  return std::string(BERTRAIN_TEST_DATA) + "/" + name;
}

Golden::Golden(const std::string& run) : name(run) {
  std::string folder = golden_path(run);
  std::string place = folder + "/bert_config.json";
  config = config_from_google(Json::parse(read_text(place)), place);
  forward = open_checkpoint(folder + "/forward.safetensors");
  gradients = open_checkpoint(folder + "/gradients.safetensors");
  init = open_checkpoint(folder + "/init/bert_model.ckpt");
  trained = open_checkpoint(folder + "/trained/model.ckpt-20");
  trajectory = Json::parse(read_text(folder + "/trajectory.json"));
  schedule.peak_rate = trajectory.at("learning_rate");
  schedule.steps = trajectory.at("num_train_steps");
  schedule.warmup = trajectory.at("num_warmup_steps");
}

std::unique_ptr<Task> Golden::task() const {
  if (pretrains()) return std::make_unique<GoldenPretraining>(config);
  return std::make_unique<GoldenClassification>(config);
}

StepOptions Golden::step_options() const {
  StepOptions options;
  options.optimizer = make_adamw(adamw_preset("google"));
  options.schedule = schedule;
  options.clip_norm_rows = !pretrains();
  options.seed = 17;
  return options;
}

Batch make_batch(const Golden& golden, const Layout& layout) {
  Array ids = golden.array("input_ids"), mask = golden.array("input_mask");
  Array segments = golden.array("segment_ids"), labels = golden.array("label_ids");
  Array next = golden.array("next_sentence_labels");
  Array target_ids = golden.array("masked_lm_ids");
  Array places = golden.array("masked_lm_positions");
  Array weights = golden.array("masked_lm_weights");
  int64_t length = ids.type.shape[1], targets = places.type.shape[1];
  int64_t last = layout.count < 0 ? ids.type.shape[0] : layout.first + layout.count;

  // Which slots of which example each row has, then the columns in row order.
  struct Slot {
    int64_t example, position;
    bool real;
  };
  std::vector<std::vector<Slot>> rows(static_cast<size_t>(layout.rows));
  Batch batch;
  for (int64_t e = layout.first; e < last; ++e) {
    std::vector<Slot>& row = rows[static_cast<size_t>((e - layout.first) % layout.rows)];
    for (int64_t p = 0; p < length; ++p) {
      bool real = mask.as<int32_t>()[e * length + p] != 0;
      if (real || layout.padded) row.push_back({e, p, real});
      batch.tokens += real ? 1 : 0;
    }
  }
  int64_t slots = 0;
  for (const auto& row : rows) slots = std::max<int64_t>(slots, std::ssize(row));
  slots += layout.filling;

  Columns c;
  std::map<std::pair<int64_t, int64_t>, int32_t> where;  // example, position → slot
  for (const auto& row : rows) {
    for (int64_t i = 0; i < slots; ++i) {
      bool there = i < std::ssize(row);
      Slot s = there ? row[static_cast<size_t>(i)] : Slot{layout.first, 0, false};
      int64_t at = s.example * length + s.position;
      if (there) {
        where[{s.example, s.position}] = static_cast<int32_t>(c.integers["example"].size());
      }
      c.integers["input_ids"].push_back(there ? ids.as<int32_t>()[at] : 0);
      c.integers["segment_ids"].push_back(there ? segments.as<int32_t>()[at] : 0);
      c.integers["position"].push_back(there ? static_cast<int32_t>(s.position) : 0);
      c.integers["example"].push_back(there ? static_cast<int32_t>(s.example - layout.first) : -1);
      c.integers["is_key"].push_back(s.real ? 1 : 0);
      c.counters["number"].push_back(there ? static_cast<uint32_t>(s.example) : 0);
    }
  }
  for (int64_t e = layout.first; e < last + layout.filling; ++e) {
    bool there = e < last;
    c.integers["first_slot"].push_back(there ? where.at({e, 0}) : 0);
    c.counters["example_number"].push_back(there ? static_cast<uint32_t>(e) : 0);
    c.reals["example_weight"].push_back(there ? 1.0F : 0.0F);
    c.integers["next_sentence_labels"].push_back(there ? next.as<int32_t>()[e] : 0);
    c.integers["label_ids"].push_back(there ? labels.as<int32_t>()[e] : 0);
    batch.row.push_back(there ? e : -1);
    for (int64_t t = 0; there && t < targets; ++t) {
      float weight = weights.as<float>()[e * targets + t];
      if (weight == 0 && !layout.padded) continue;
      int64_t place = places.as<int32_t>()[e * targets + t];
      c.integers["target_slot"].push_back(where.at({e, place}));
      c.integers["masked_lm_ids"].push_back(target_ids.as<int32_t>()[e * targets + t]);
      c.reals["masked_lm_weights"].push_back(weight);
    }
  }
  for (int64_t i = 0; i < layout.filling; ++i) {
    c.integers["target_slot"].push_back(0);
    c.integers["masked_lm_ids"].push_back(0);
    c.reals["masked_lm_weights"].push_back(0);
  }

  batch.capacity = {layout.rows, slots, last - layout.first + layout.filling,
                    golden.pretrains() ? std::ssize(c.integers["target_slot"]) : 0};
  Schema schema = golden.task()->schema();
  for (const auto& [name, type] : batch_types(schema, batch.capacity)) {
    if (type.dtype == DType::f32) {
      batch.arrays[name] = make_array<float>(type.shape, c.reals.at(name));
    } else if (type.dtype == DType::u32) {
      batch.arrays[name] = make_array<uint32_t>(type.shape, c.counters.at(name));
    } else {
      batch.arrays[name] = make_array<int32_t>(type.shape, c.integers.at(name));
    }
  }
  return batch;
}

std::vector<Batch> split_batch(const Golden& golden, const std::vector<int64_t>& counts,
                               int64_t filling) {
  std::vector<Batch> micro;
  int64_t first = 0;
  for (int64_t count : counts) {
    micro.push_back(make_batch(golden, {.filling = filling, .first = first, .count = count}));
    first += count;
  }
  return micro;
}

std::unique_ptr<State> make_state(const Golden& golden, const Task& task, Backend& backend,
                                  const Optimizer* optimizer) {
  auto state = std::make_unique<State>(backend, parameters_of(task), optimizer);
  state->initialise(1);
  LoadReport report = state->load_parameters(*golden.init);
  check(report.missing.empty() && report.resized.empty(), "the golden has every parameter");
  return state;
}

Named<Array> gradients_of(const Golden& golden, const Task& task, const State& state,
                          const StepOptions& options, const Batch& batch) {
  Backend& backend = state.backend();
  auto recording = record_micro(task, options, batch.capacity);
  Named<double> sums = normalisers(task.terms(), split_batch(golden, {6}));
  DeviceArrays inputs;
  for (const Node* node : recording->graph().nodes()) {
    if (node->op != &kInput) continue;
    std::string_view name = node->name;
    Array value = zeros(node->outputs[0]);
    if (name.starts_with("batch/")) value = batch.arrays.find(name.substr(6))->second;
    if (name.starts_with("weight/")) {
      std::string term(name.substr(7));
      for (const LossTerm& t : task.terms()) {
        if (t.name != term) continue;
        std::vector<float> weights;
        for (float w : batch.arrays.at(t.weight).as<float>()) {
          weights.push_back(static_cast<float>(w / sums.at(term)));
        }
        value = make_array<float>(node->outputs[0].shape, weights);
      }
    }
    if (state.arrays().contains(name)) value = state.get(name);
    inputs[node->name] = backend.put(value, node->placement);
  }
  auto program = backend.compile(recording->graph());
  Named<Array> result;
  for (const auto& [name, array] : program->run(inputs)) {
    if (name.starts_with("sum/")) result[name.substr(4)] = backend.get(*array);
  }
  return result;
}

bool is_key_bias(std::string_view name) { return name.find("/key/bias") != std::string_view::npos; }

double difference(const Array& got, const Array& want) {
  check(got.type == want.type,
        fmt::format("{} against {}", to_string(got.type), to_string(want.type)));
  double most = 0;
  std::span<const float> a = got.as<float>(), b = want.as<float>();
  for (size_t i = 0; i < a.size(); ++i) {
    double d = std::fabs(double{a[i]} - double{b[i]});
    most = std::max(most, std::isnan(d) ? INFINITY : d);
  }
  return most;
}

double relative_difference(const Array& got, const Array& want) {
  double largest = 0;
  for (float w : want.as<float>()) largest = std::max(largest, std::fabs(double{w}));
  double most = difference(got, want);
  return most == 0 ? 0 : most / largest;
}

}  // namespace bertrain
