# Questions answered by transformers' model from our folder: the same logits for our best answers, and the same loss, which is over padding in
# run_squad.py and in transformers where rows are padded. Usage: squad.py PROGRAM PRETRAINED
import json
import os
import shutil
import subprocess
import sys

import torch
from transformers import AutoModelForQuestionAnswering, AutoTokenizer

LENGTH = 40
program, pretrained = sys.argv[1:]
contexts = ["the small cat number 3 sat on a mat", "it looked at the birds", "then it slept until noon and looked at the small birds at noon"]
asked = [(0, "who sat", "the small cat"), (0, "a mat", "on a mat"), (1, "birds", "birds"), (2, "until", "noon"), (2, "who slept", "it"),
         (1, "the small mat", None), (2, "number 3", None)]
paragraphs = [{"context": context, "qas": []} for context in contexts]
for i, (c, question, answer) in enumerate(asked):
    answers = [{"text": answer, "answer_start": contexts[c].index(answer)}] if answer else []
    paragraphs[c]["qas"].append({"id": str(i), "question": question, "answers": answers, "is_impossible": not answers})
with open("questions.json", "w") as f:
    json.dump({"version": "v2.0", "data": [{"title": "cats", "paragraphs": paragraphs}]}, f)


def run(*flags):
    done = subprocess.run([program, *flags], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(flags)}:\n{done.stderr}")


flags = ["--task=squad", "--train_file=questions.json", f"--max_seq_length={LENGTH}", "--max_query_length=8", "--train_batch_size=7"]
run("finetune", *flags, f"--init_checkpoint={pretrained}", "--output_dir=squad", "--num_train_steps=40", "--learning_rate=1e-3")
run("predict", "--model_dir=squad", "--input_file=questions.json", "--output_file=squad/predictions.json")
model, loading = AutoModelForQuestionAnswering.from_pretrained("squad/model", output_loading_info=True)
assert not loading["missing_keys"] and not loading["unexpected_keys"], loading
tokenizer = AutoTokenizer.from_pretrained("squad/model")
model.eval()
with open("squad/nbest_predictions.json") as f:
    answers = json.load(f)
with open("squad/null_odds.json") as f:
    odds = json.load(f)

worst = 0.0
for i, (c, question, _) in enumerate(asked):
    inputs = tokenizer(question, contexts[c], return_tensors="pt", return_offsets_mapping=True)
    offsets, context = inputs.pop("offset_mapping")[0].tolist(), [part == 1 for part in inputs.sequence_ids(0)]
    with torch.no_grad():
        found = model(**inputs)
    start, end = found.start_logits[0].tolist(), found.end_logits[0].tolist()
    spans = [(start[a] + end[b], a, b) for a in range(len(start)) for b in range(a, len(end)) if context[a] and context[b]]
    score, a, b = max(spans)
    ours = next(answer for answer in answers[str(i)] if answer["text"])
    assert ours["text"] == contexts[c][offsets[a][0]:offsets[b][1]], (i, ours, a, b)
    worst = max(worst, abs(ours["start_logit"] - start[a]), abs(ours["end_logit"] - end[b]), abs(odds[str(i)] - (start[0] + end[0] - score)))
assert worst < 1e-4, worst

# The loss of one batch of all questions, without dropout.
shutil.copytree("squad/model", "still")
with open("still/config.json") as f:
    config = json.load(f)
config["hidden_dropout_prob"] = config["attention_probs_dropout_prob"] = 0.0
with open("still/config.json", "w") as f:
    json.dump(config, f)
for loss, padding in (("tokens", False), ("padded", "max_length")):
    run("finetune", *flags, "--init_checkpoint=still", f"--output_dir=loss_{loss}", "--num_train_steps=1", "--log_every=1", f"--span_loss={loss}")
    with open(os.path.join(f"loss_{loss}", "metrics.jsonl")) as f:
        ours = next(line["loss"] for line in map(json.loads, f) if "loss" in line)
    theirs = 0.0
    for c, question, answer in asked:
        inputs = tokenizer(question, contexts[c], return_tensors="pt", padding=padding, max_length=LENGTH)
        place = [0, 0]
        if answer:
            at = contexts[c].index(answer)
            place = [inputs.char_to_token(at, sequence_index=1), inputs.char_to_token(at + len(answer) - 1, sequence_index=1)]
        with torch.no_grad():
            theirs += model(**inputs, start_positions=torch.tensor(place[:1]), end_positions=torch.tensor(place[1:])).loss.item() / len(asked)
    assert abs(ours - theirs) < 1e-5 * max(1, theirs), (loss, ours, theirs)
    worst = max(worst, abs(ours - theirs))
print(f"peers: {len(asked)} questions, largest difference of a logit or a loss {worst:.1e}")
