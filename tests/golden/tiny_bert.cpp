// Batches and tasks of the tiny reference BERT.
#include "tiny_bert.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/error.h"
#include "formats/tfrecord.h"
#include "storage/storage.h"
#include "task/pretraining.h"
#include "task/table/classification.h"

namespace bertrain {
namespace {

// The values of row `row` of an i32 array [N, …] or [N].
std::vector<int64_t> row_of(const Array& array, int64_t row) {
  std::span<const int32_t> all = array.as<int32_t>();
  size_t width = all.size() / static_cast<size_t>(array.type.shape[0]);
  std::span<const int32_t> mine = all.subspan(static_cast<size_t>(row) * width, width);
  return {mine.begin(), mine.end()};
}

// The golden's examples as the records that pre-training reads.
void write_records(const Golden& golden, const std::string& uri) {
  TfRecordWriter writer(storage_for(uri).create(uri, Exists::replace));
  Array weights = golden.array("masked_lm_weights");
  auto targets = static_cast<size_t>(weights.type.shape[1]);
  for (int64_t row = 0; row < kGoldenExamples; ++row) {
    Example record;
    for (const char* name : {"input_ids", "input_mask", "segment_ids", "masked_lm_positions",
                             "masked_lm_ids", "next_sentence_labels"}) {
      record[name] = row_of(golden.array(name), row);
    }
    auto mine = weights.as<float>().subspan(static_cast<size_t>(row) * targets, targets);
    record["masked_lm_weights"] = std::vector<float>(mine.begin(), mine.end());
    writer.write(serialize_example(record));
  }
  writer.commit();
}

}  // namespace

std::vector<NamedBackend> golden_backends() {
  return {{"reference", [] { return make_reference_backend(); }},
          {"cpu", [] { return make_cpu_backend({}); }}};
}

namespace {

std::unique_ptr<Backend> opened(int devices, int64_t least_turns) {
  const char* path = std::getenv("BERTRAIN_CPU_PLUGIN");
  if (path == nullptr) return nullptr;
  PluginTarget target;
  target.path = path;
  target.devices = devices;
  target.least_turns = least_turns;
  return make_plugin_backend(target, {});
}

}  // namespace

std::unique_ptr<Backend> plugin_with(int devices) { return opened(devices, 2); }

std::vector<NamedBackend> plugin_backends() {
  return {{"plugin", [] { return opened(1, 0); }}, {"plugin_loops", [] { return opened(1, 2); }}};
}

std::vector<NamedBackend> golden_and_plugin_backends() {
  std::vector<NamedBackend> all = golden_backends();
  for (NamedBackend& backend : plugin_backends()) all.push_back(std::move(backend));
  return all;
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
  if (pretrains()) {
    PretrainingOptions options;
    options.input_file = "mem://golden/records";
    write_records(*this, options.input_file);
    return make_pretraining(options, config);
  }
  // Its three labels are learnt from a table; of the golden's examples there are ids but no texts. The
  // table has as many rows as are named in tests.
  std::string table = "label\ttext\n";
  for (int row = 0; row < 24; ++row) table += std::to_string(row % 3) + "\ta\n";
  ClassificationOptions options;
  options.train_file = "mem://golden/table.tsv";
  write_text(options.train_file, table);
  options.dev_fraction = 0;
  options.max_seq_length = kGoldenLength;
  // The golden's run had every dropout off, also the classifier's fixed one.
  options.classifier_dropout = config.hidden_dropout_prob;
  std::vector<std::string> pieces = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a"};
  return make_classification("classification", options, config,
                             std::make_shared<Tokenizer>(Vocabulary(pieces)), nullptr);
}

std::vector<Example> Golden::examples() const {
  if (pretrains()) return rest_of(*task()->examples("train"));
  std::vector<Example> all;
  for (int64_t row = 0; row < kGoldenExamples; ++row) {
    Example example;
    std::vector<int64_t> mask = row_of(array("input_mask"), row);
    auto length = static_cast<size_t>(std::count(mask.begin(), mask.end(), 1));
    for (const char* name : {"input_ids", "segment_ids"}) {
      std::vector<int64_t> values = row_of(array(name), row);
      values.resize(length);
      example[name] = values;
    }
    example["label"] = row_of(array("label_ids"), row);
    all.push_back(std::move(example));
  }
  return all;
}

StepOptions Golden::step_options() const {
  StepOptions options;
  options.optimizer = make_adamw(adamw_preset("google"));
  options.schedule = schedule;
  options.clip_norm_rows = !pretrains();
  options.seed = 17;
  return options;
}

Batch pack_one(const Task& task, std::span<const Example> examples, const Layout& layout) {
  if (layout.count >= 0)
    examples = examples.first(static_cast<size_t>(layout.first + layout.count));
  examples = examples.subspan(static_cast<size_t>(layout.first));
  int64_t slots = 0, targets = 0;
  for (const Example& example : examples) {
    slots += layout.padded ? kGoldenLength : std::ssize(integers(example, "input_ids"));
    if (task.max_targets() > 0) targets += std::ssize(integers(example, "target_positions"));
  }
  PackOptions options;
  options.capacities = {{layout.rows, (slots + layout.rows - 1) / layout.rows + layout.filling,
                         std::ssize(examples) + layout.filling,
                         task.max_targets() > 0 ? targets + layout.filling : 0}};
  options.padded_length = layout.padded ? kGoldenLength : 0;
  options.first_number = static_cast<uint32_t>(layout.first);
  std::vector<Batch> micro = pack(examples, task.schema(), options, layout.first);
  check(micro.size() == 1, "the examples fit the layout");
  return std::move(micro.front());
}

Batch make_batch(const Golden& golden, const Layout& layout) {
  return pack_one(*golden.task(), golden.examples(), layout);
}

std::vector<Batch> split_examples(const Task& task, std::span<const Example> examples,
                                  const std::vector<int64_t>& counts, int64_t filling) {
  std::vector<Batch> micro;
  int64_t first = 0;
  for (int64_t count : counts) {
    micro.push_back(pack_one(task, examples, {.filling = filling, .first = first, .count = count}));
    first += count;
  }
  return micro;
}

std::vector<Batch> split_batch(const Golden& golden, const std::vector<int64_t>& counts,
                               int64_t filling) {
  return split_examples(*golden.task(), golden.examples(), counts, filling);
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
