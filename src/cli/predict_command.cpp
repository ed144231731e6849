// The predict command: one row out for each row in, with label and probabilities.
#include "cli/predict_command.h"

#include <ostream>

#include "base/error.h"
#include "base/log.h"
#include "cli/row_output.h"
#include "cli/row_printer.h"
#include "cli/trained_model.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

struct PredictOptions {
  InferenceOptions inference;
  std::string output_file = "-", output_format = "jsonl";
  int64_t predict_batch_size = 0;

  PredictOptions() { inference.input_file = "-"; }

  EachOption each() {
    return [this](OptionVisitor& v) {
      inference.each(v);
      v("output_file", output_file, "where rows go; - is standard output");
      v("output_format", output_format, "jsonl or tsv");
      v("top_k", inference.top_k, "of a pre-trained model: pieces for each [MASK]");
      v("predict_batch_size", predict_batch_size,
        "rows at a time; 0: 32, or 1 where they come from standard input or a pipe");
    };
  }
};

void run_predict(Args args, std::ostream& out) {
  PredictOptions o;
  if (wants_help(args)) return print_help(kPredictCommand, o.each(), out);
  parse_only_options(args, o.each());
  require_output_format(o.output_format);  // before anything is loaded
  require_between("top_k", o.inference.top_k, 1, 1000);
  require_between("predict_batch_size", o.predict_batch_size, 0, kMaxBatchSize);
  bool follow = is_read_once(o.inference.input_file);
  int64_t batch = o.predict_batch_size != 0 ? o.predict_batch_size : follow ? 1 : 32;
  TrainedModel model(o.inference, "test", batch);
  std::vector<std::string> inputs = {o.inference.input_file};
  for (const Object& file : storage_for(model.folder()).list(model.folder() + "/")) {
    inputs.push_back(file.uri);
  }
  refuse_overwriting(o.output_file, inputs);
  bool fills = model.is("pretraining");
  auto printer = fills ? make_mask_printer(o.output_format)
                       : make_row_printer(o.output_format, model.task().describe());
  RowOutput rows(o.output_file, follow, out);
  rows.write(printer->head());
  EvaluationResult result =
      model.run(false, 0, [&](const Example& row) { rows.write(printer->line(row)); });
  rows.commit();
  log_line("{} rows in {:.1f} s", result.rows, result.seconds);
}

}  // namespace

const Command kPredictCommand = {
    "predict", "labels and probabilities, or what fills [MASK], one row out for each row in",
    "bertrain predict --model_dir=topics --input_file=new.tsv --output_file=labels.jsonl\n"
    "echo 'a parser for configuration files' | bertrain predict --model_dir=topics --noheader\n"
    "echo 'paris is the [MASK] of france.' | bertrain predict --model_dir=pretrained --top_k=3",
    run_predict};

}  // namespace bertrain
