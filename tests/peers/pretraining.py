# Compares the transformers library with `bertrain evaluate` on a pre-trained folder: pretraining.py PROGRAM FOLDER RECORDS
# Of some masked positions the log-probability of every piece of the vocabulary, and of both next-sentence answers; then all scores.
import json
import subprocess
import sys

import torch
from records import read_records, write_records
from transformers import BertForMaskedLM, BertForPreTraining, logging

TOLERANCE = 1e-5

program, folder, path = sys.argv[1:]
logging.set_verbosity_error()  # that a model of masked words alone leaves tensors unused is meant
model = BertForPreTraining.from_pretrained(folder).eval()
masked_lm_only = BertForMaskedLM.from_pretrained(folder).eval()
records = list(read_records(path))


def scores(file):
    run = subprocess.run([program, "evaluate", "--threads=1", f"--model_dir={folder}", f"--input_file={file}", "--json"],
                         check=True, capture_output=True)
    return json.loads(run.stdout)


def logits(record):
    length = sum(record["input_mask"])
    inputs = {"input_ids": torch.tensor([record["input_ids"][:length]]), "token_type_ids": torch.tensor([record["segment_ids"][:length]]),
              "attention_mask": torch.ones(1, length, dtype=torch.long)}
    with torch.no_grad():
        out = model(**inputs)
        assert torch.equal(masked_lm_only(**inputs).logits, out.prediction_logits)
    return out.prediction_logits[0].log_softmax(-1), out.seq_relationship_logits[0].log_softmax(-1)


# A record with one target, each piece in turn, has that piece's negative log-probability as its loss.
worst = count = 0
slots = len(records[0]["masked_lm_ids"])
for record in records[::len(records) // 3][:3]:
    pieces, sentences = logits(record)
    target = int(sum(record["masked_lm_weights"])) - 1
    position = record["masked_lm_positions"][target]
    for piece in range(pieces.shape[1]):
        answer = piece % 2
        asked = dict(record, masked_lm_positions=[position] + [0] * (slots - 1), masked_lm_ids=[piece] + [0] * (slots - 1),
                     masked_lm_weights=[1.0] + [0.0] * (slots - 1), next_sentence_labels=[answer])
        write_records("asked.tfrecord", [asked])
        ours = scores("asked.tfrecord")
        worst = max(worst, abs(ours["masked_lm_loss"] + pieces[position, piece].item()),
                    abs(ours["next_sentence_loss"] + sentences[answer].item()))
        count += 1
print(f"peers: log-probabilities of {count} pieces and next sentences, largest difference {worst:.1e}")
assert worst < TOLERANCE, worst

totals = {name: 0.0 for name in ("masked_lm_loss", "masked_lm_accuracy", "next_sentence_loss", "next_sentence_accuracy")}
targets = 0.0
for record in records:
    pieces, sentences = logits(record)
    for position, piece, weight in zip(record["masked_lm_positions"], record["masked_lm_ids"], record["masked_lm_weights"]):
        totals["masked_lm_loss"] -= weight * pieces[position, piece].item()
        totals["masked_lm_accuracy"] += weight * (pieces[position].argmax().item() == piece)
        targets += weight
    answer = record["next_sentence_labels"][0]
    totals["next_sentence_loss"] -= sentences[answer].item()
    totals["next_sentence_accuracy"] += sentences.argmax().item() == answer
ours = scores(path)
for name, total in totals.items():
    theirs = total / (targets if name.startswith("masked") else len(records))
    print(f"peers: {name} of {len(records)} records {ours[name]:.7f}, theirs {theirs:.7f}")
    assert abs(ours[name] - theirs) < TOLERANCE, (name, ours[name], theirs)
