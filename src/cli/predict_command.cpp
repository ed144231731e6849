// The predict command: one row out for each row in, with label and probabilities.
#include "cli/predict_command.h"

#include <ostream>

#include "base/error.h"
#include "base/log.h"
#include "cli/answer_output.h"
#include "cli/row_output.h"
#include "cli/row_printer.h"
#include "cli/trained_model.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

struct PredictOptions {
  InferenceOptions inference = from_standard_input();
  std::string output_file = "-", output_format;
  int64_t predict_batch_size = 0;
  bool logits = false;

  EachOption each() {
    return [this](OptionVisitor& v) {
      inference.each(v);
      v("output_file", output_file, "where rows go; - is standard output");
      v("output_format", output_format,
        "jsonl; or tsv, with a column for each class (its name, or probability:name where a class "
        "is called as another column); of squad json, which is predictions.json with its "
        "neighbours, or jsonl; of a tagger conll (the input's lines with their tags), conlleval "
        "(the tags behind the last column) or jsonl (default: jsonl, of squad json, of a tagger "
        "conll)");
      v("top_k", inference.top_k, "of a pre-trained model: pieces for each [MASK]");
      v("logits", logits,
        "also the scores before softmax or sigmoid (of a text in windows their mean): of classes, "
        "of choices, and of pieces for [MASK]");
      v("predict_batch_size", predict_batch_size,
        "rows at a time; 0: 32, or 1 where they come from standard input or a pipe");
    };
  }
};

// All answers at once, as files by question's id are.
void answer(TrainedModel& model, const std::string& output_file,
            const std::vector<std::string>& inputs, std::ostream& out) {
  AnswerFiles files = answer_files(output_file);
  for (const std::string& file : {files.n_best, files.null_odds}) {
    if (file.empty()) continue;
    refuse_overwriting(
        file, inputs,
        fmt::format("{}, which is written beside --output_file={}", file, output_file));
  }
  bool version_2 = model.task().describe().at("version_2_with_negative").get<bool>();
  AnswerOutput output(files, version_2, out);
  SquadPredictions answers;
  EvaluationResult result = model.run(false, 0, [&](const Example& row) {
    answers.put(strings(row, "id").at(0), squad_prediction_of(row));
  });
  output.write(answers);
  log_line("{} rows in {:.1f} s", result.rows, result.seconds);
}

void run_predict(Args args, std::ostream& out) {
  PredictOptions o;
  if (wants_help(args)) return print_help(kPredictCommand, o.each(), out);
  parse_only_options(args, o.each());
  bool any_format = o.output_format.empty() || o.output_format == "json";
  if (!any_format) require_output_format(o.output_format);  // before anything is loaded
  require_output_file(o.output_file);
  require_between("top_k", o.inference.top_k, 1, 1000);
  require_between("predict_batch_size", o.predict_batch_size, 0, kMaxBatchSize);
  bool follow = is_read_once(o.inference.input_file);
  int64_t batch = o.predict_batch_size != 0 ? o.predict_batch_size : follow ? 1 : 32;
  TrainedModel model(o.inference, "test", batch);
  std::vector<std::string> inputs = {o.inference.input_file};
  for (const Object& file : storage_for(model.folder()).list(model.folder() + "/")) {
    inputs.push_back(file.uri);
  }
  refuse_overwriting(o.output_file, inputs, fmt::format("--output_file={}", o.output_file));
  if (any_format && !o.logits && model.is("squad"))
    return answer(model, o.output_file, inputs, out);
  bool fills = model.is("pretraining");
  auto printer = fills ? make_mask_printer(o.output_format, o.logits)
                       : make_row_printer(o.output_format, model.task().describe(), o.logits);
  RowOutput rows(o.output_file, follow, out);
  rows.write(printer->head());
  EvaluationResult result =
      model.run(false, 0, [&](const Example& row) { rows.write(printer->line(row)); });
  rows.commit();
  log_line("{} rows in {:.1f} s", result.rows, result.seconds);
}

}  // namespace

const Command kPredictCommand = {
    "predict",
    "labels and probabilities, answers, or what fills [MASK], one row out for each row in",
    "bertrain predict --model_dir=topics --input_file=new.tsv --output_file=labels.jsonl\n"
    "bertrain predict --model_dir=names --input_file=new.conll --output_file=tagged.conll\n"
    "echo 'a parser for configuration files' | bertrain predict --model_dir=topics --noheader\n"
    "bertrain predict --model_dir=squad --input_file=dev-v2.0.json --output_file=predictions.json\n"
    "echo 'paris is the [MASK] of france.' | bertrain predict --model_dir=pretrained --top_k=3",
    run_predict};

}  // namespace bertrain
