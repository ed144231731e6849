// The embed command: vectors of texts or of their tokens, as JSON lines or as one array.
#include "cli/embed_command.h"

#include <charconv>
#include <ostream>

#include "base/error.h"
#include "base/log.h"
#include "cli/options.h"
#include "cli/row_output.h"
#include "cli/trained_model.h"
#include "task/inference/embedding.h"

namespace bertrain {
namespace {

struct EmbedFlags {
  InferenceOptions model = from_standard_input();
  std::string layers = "-1", pooling = "mean", output_file = "-", output_format;
  int64_t max_seq_length = 0, batch_size = 0;

  EachOption each() {
    return [this](OptionVisitor& v) {
      v("model_dir", model.model_dir, "model folder, or the run that made it");
      v("input_file", model.input_file, "a text a line; - is standard input");
      v("layers", layers, "of the encoder, from 0; -1 is the last: -1,-2,-3,-4");
      v("pooling", pooling,
        "one vector a text: cls (the first token's), mean or max; none: one a token");
      v("output_file", output_file, "where vectors go; - is standard output");
      v("output_format", output_format,
        "jsonl, npy or safetensors (one array, f32 [texts, hidden], or [texts, layers, hidden]); "
        "empty: by the name of output_file");
      v("max_seq_length", max_seq_length,
        "tokens of a text; longer ones are cut and counted (0: 128, or the model's)");
      v("batch_size", batch_size, "texts at a time; 0: 32, or 1 from standard input or a pipe");
      v("invalid_utf8", model.invalid_utf8, "bytes that are not UTF-8: error, replace or ignore");
      v("device", model.device, "cpu, gpu, tpu, plugin:PATH or reference");
      v("replicas", model.replicas, "devices of a plugin to use; 0: all (of one for the CPU, one)");
      v("dtype", model.dtype, "fp32 or bf16 activations");
      v("threads", model.threads, "0: as many as the machine or its cgroup allows");
      v("memory", model.memory, "limit as 8GiB or 75%; empty: 80% of what the machine allows");
    };
  }
};

std::vector<int64_t> parse_layers(const std::string& text) {
  std::vector<int64_t> layers;
  for (size_t at = 0; at <= text.size();) {
    size_t end = std::min(text.find(',', at), text.size());
    int64_t layer = 0;
    auto [stop, problem] = std::from_chars(text.data() + at, text.data() + end, layer);
    if (problem != std::errc() || stop != text.data() + end) {
      throw usage_error("--layers={}: numbers with commas between them expected, as -1,-2", text);
    }
    layers.push_back(layer);
    at = end + 1;
  }
  constexpr size_t kMostLayers = 128;
  if (layers.size() > kMostLayers) throw usage_error("--layers: at most {} expected", kMostLayers);
  return layers;
}

Pooling parse_pooling(const std::string& name) {
  if (name == "none") return Pooling::none;
  if (name == "cls") return Pooling::cls;
  if (name == "mean") return Pooling::mean;
  if (name == "max") return Pooling::max;
  throw usage_error("--pooling={}: cls, mean, max or none expected", name);
}

std::string format_of(const EmbedFlags& o) {
  const std::string& format = o.output_format;
  if (format.empty()) {
    if (o.output_file.ends_with(".npy")) return "npy";
    return o.output_file.ends_with(".safetensors") ? "safetensors" : "jsonl";
  }
  if (format == "jsonl" || format == "npy" || format == "safetensors") return format;
  throw usage_error("--output_format={}: jsonl, npy or safetensors expected", format);
}

// The shortest text that reads back as the same float.
void append_values(std::string& text, std::span<const float> values) {
  text += "\"values\":[";
  for (size_t i = 0; i < values.size(); ++i)
    fmt::format_to(std::back_inserter(text), "{}{}", i ? "," : "", values[i]);
  text += "]";
}

std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Of each token as extract_features.py writes them: {"linex_index": 0, "features": [{"token": "[CLS]",
// "layers": [{"index": -1, "values": […]}, …]}, …]}. Of a text: {"linex_index": 0, "layers": […]}.
std::string json_line(int64_t number, const Example& row, const std::vector<int64_t>& layers,
                      bool by_token) {
  std::string text = fmt::format("{{\"linex_index\":{},", number);
  const auto append_layers = [&](size_t token, size_t tokens) {
    text += "\"layers\":[";
    for (size_t l = 0; l < layers.size(); ++l) {
      std::span<const float> all = floats(row, fmt::format("layer_{}", l));
      size_t width = all.size() / tokens;
      fmt::format_to(std::back_inserter(text), "{}{{\"index\":{},", l ? "," : "", layers[l]);
      append_values(text, all.subspan(token * width, width));
      text += "}";
    }
    text += "]";
  };
  if (!by_token) {
    append_layers(0, 1);
    return text + "}\n";
  }
  const std::vector<std::string>& tokens = strings(row, "token");
  text += "\"features\":[";
  for (size_t t = 0; t < tokens.size(); ++t) {
    text += fmt::format("{}{{\"token\":{},", t ? "," : "", quoted(tokens[t]));
    append_layers(t, tokens.size());
    text += "}";
  }
  return text + "]}\n";
}

uint64_t count_lines(const std::string& file) {
  auto lines = read_lines(file);
  std::string line;
  uint64_t count = 0;
  while (lines->next(line)) ++count;
  return count;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  return fmt::format("{}", fmt::join(shape, ", "));
}

// What stands before the values of the array, in the order of C, little endian.
std::string array_head(const std::string& format, const std::vector<int64_t>& shape) {
  if (format == "npy") {  // version 1.0 of NumPy's format: head padded so that values begin at 64 n
    std::string dict = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}",
                                   shape_text(shape));
    constexpr size_t kBefore = 10;  // magic, version, length
    dict.append((64 - (kBefore + dict.size() + 1) % 64) % 64, ' ');
    dict += '\n';
    std::string head = "\x93NUMPY";
    head += {'\x01', '\x00', static_cast<char>(dict.size()), static_cast<char>(dict.size() >> 8)};
    return head + dict;
  }
  int64_t bytes = 4;
  for (int64_t extent : shape) bytes *= extent;
  std::string json =
      fmt::format("{{\"embeddings\":{{\"dtype\":\"F32\",\"shape\":[{}],\"data_offsets\":[0,{}]}}}}",
                  shape_text(shape), bytes);
  json.append((8 - json.size() % 8) % 8, ' ');
  std::string head;
  for (int i = 0; i < 8; ++i) head += static_cast<char>(json.size() >> (8 * i));
  return head + json;
}

void run_embed(Args args, std::ostream& out) {
  EmbedFlags o;
  if (wants_help(args)) return print_help(kEmbedCommand, o.each(), out);
  parse_only_options(args, o.each());
  require_output_file(o.output_file);
  EmbeddingOptions embedding;
  embedding.input_file = o.model.input_file;
  embedding.invalid_utf8 = o.model.invalid_utf8;
  embedding.layers = parse_layers(o.layers);
  embedding.pooling = parse_pooling(o.pooling);
  embedding.max_seq_length = o.max_seq_length;
  std::string format = format_of(o);
  bool by_token = embedding.pooling == Pooling::none, is_array = format != "jsonl";
  require_between("batch_size", o.batch_size, 0, kMaxBatchSize);
  require_between("max_seq_length", o.max_seq_length, 0, INT32_MAX);
  if (is_array && by_token) {
    throw usage_error(
        "--pooling=none: texts have different numbers of tokens, which only jsonl holds");
  }
  bool follow = is_read_once(o.model.input_file);
  if (is_array && (follow || o.output_file == "-")) {
    throw usage_error("--output_format={}: an array is written from a file to a file", format);
  }
  int64_t batch = o.batch_size != 0 ? o.batch_size : follow ? 1 : 32;
  int64_t width = 0;
  TrainedModel model(o.model, batch, [&](const TaskOptions& of) {
    width = of.config.hidden_size;
    return make_embedding(embedding, of.config, of.tokenizer);
  });
  if (!follow) {
    refuse_overwriting(o.output_file, std::vector<std::string>{o.model.input_file},
                       fmt::format("--output_file={}", o.output_file));
  }
  RowOutput rows(o.output_file, follow, out);
  if (is_array) {
    std::vector<int64_t> shape = {static_cast<int64_t>(count_lines(o.model.input_file))};
    if (embedding.layers.size() > 1) shape.push_back(std::ssize(embedding.layers));
    shape.push_back(width);
    rows.write(array_head(format, shape));
  }
  int64_t number = 0;
  EvaluationResult result = model.run(false, 0, [&](const Example& row) {
    if (!is_array) return rows.write(json_line(number++, row, embedding.layers, by_token));
    for (size_t l = 0; l < embedding.layers.size(); ++l) {
      const std::vector<float>& values = floats(row, fmt::format("layer_{}", l));
      rows.write(
          std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
    }
  });
  rows.commit();
  log_line("{} texts in {:.1f} s", result.rows, result.seconds);
}

}  // namespace

const Command kEmbedCommand = {
    "embed", "vectors of texts, or of their tokens, from a model's layers",
    "bertrain embed --model_dir=bert-base --input_file=texts.txt --output_file=vectors.npy\n"
    "echo 'one text' | bertrain embed --model_dir=bert-base --pooling=none --layers=-1,-2,-3,-4",
    run_embed};

}  // namespace bertrain
