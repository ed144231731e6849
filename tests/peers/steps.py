# 20 training steps of transformers' models with torch's AdamW, as transformers' Trainer makes them, beside bertrain's under --preset=hf.
# The same first weights, batches in the same order, no dropout; losses, rates and gradient norms of every step. steps.py PROGRAM
import json
import pathlib
import shutil
import subprocess
import sys

import torch
from records import read_records, write_records
from transformers import (AutoTokenizer, BertForMaskedLM, BertForPreTraining, BertForSequenceClassification, Trainer, get_linear_schedule_with_warmup,
                          logging)

STEPS, WARMUP, BATCH, LENGTH = 20, 4, 6, 32
TOLERANCE = 1e-4

program, = sys.argv[1:]
work = pathlib.Path("steps")
work.mkdir()
torch.set_num_threads(1)
logging.disable_progress_bar()
logging.set_verbosity_error()  # that a model of masked words alone leaves tensors unused is meant

NAMES = ["cat", "bird", "old man", "river", "mat", "noon"]
DOINGS = ["sat on a mat and slept until noon", "looked at us", "was small, and the birds were not", "slept"]
KINDS = ["animal", "place", "time"]
ROWS = [(f"the {a} number {i} {b}", f"it {DOINGS[i % 4]} then" if i % 3 else f"the {NAMES[i % 5]}", KINDS[(i + i // 4) % 3])
        for i, (a, b) in enumerate((a, b) for a in NAMES for b in DOINGS)]
assert len(ROWS) % BATCH == 0  # no batch goes over the end of a pass: Trainer would cut it there


def run(command, *flags):
    found = subprocess.run([program, command, "--threads=1", *flags], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr


def without_dropout(folder):
    """Copies the folder of a model, so that training drops nothing."""
    to = folder.parent / "start"
    shutil.copytree(folder, to)
    config = json.loads((to / "config.json").read_text())
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "classifier_dropout": 0.0}
    (to / "config.json").write_text(json.dumps(config))
    return to


def theirs(model, batches, rate, weight_decay):
    """(loss, rate, gradient norm) of each step."""
    decayed = Trainer.get_decay_parameter_names(None, model)
    groups = [{"params": [p for n, p in model.named_parameters() if n in decayed], "weight_decay": weight_decay},
              {"params": [p for n, p in model.named_parameters() if n not in decayed], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.999), eps=1e-8)
    schedule = get_linear_schedule_with_warmup(optimizer, WARMUP, STEPS)
    model.train()
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = model(**batches[step % len(batches)]).loss
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        now = optimizer.param_groups[0]["lr"]
        optimizer.step()
        schedule.step()
        yield loss.item(), now, norm.item()


def ours(command, to, rate, *flags):
    run(command, f"--output_dir={to}", f"--num_train_steps={STEPS}", f"--num_warmup_steps={WARMUP}", f"--train_batch_size={BATCH}",
        f"--learning_rate={rate}", "--shuffle_buffer=1", "--log_every=1", "--eval_every=never", *flags)
    lines = [json.loads(line) for line in open(f"{to}/metrics.jsonl")]
    lines = [line for line in lines if "learning_rate" in line]
    assert [line["step"] for line in lines] == list(range(1, STEPS + 1))
    return [(line["loss"], line["learning_rate"], line["gradient_norm"]) for line in lines]


def largest(found, wanted, what):
    """The largest difference; of norms in parts of the norm."""
    differences = [abs(a[what] - b[what]) / (b[2] if what == 2 else 1) for a, b in zip(found, wanted, strict=True)]
    return max(differences)


def compare(name, command, start, model_class, batches, *flags, rate=2e-3):
    for weight_decay in (0.0, 0.1):
        model = model_class.from_pretrained(start)
        assert model.config.hidden_act == "gelu", model.config.hidden_act
        wanted = list(theirs(model, batches, rate, weight_decay))
        decay = [f"--weight_decay={weight_decay}"] if weight_decay else []  # none is the preset's
        found = ours(command, work / f"{name}-{weight_decay}", rate, f"--init_checkpoint={start}", "--preset=hf", *decay, *flags)
        losses, rates, norms = (largest(found, wanted, i) for i in range(3))
        print(f"peers: {name}, weight decay {weight_decay}: {STEPS} steps, loss {wanted[0][0]:.4f} to {wanted[-1][0]:.4f},"
              f" largest difference {losses:.1e}; of rates {rates:.1e}, of norms {norms:.1e} of the norm")
        assert losses < TOLERANCE and rates < 1e-8 and norms < 1e-4, list(zip(found, wanted))
        assert wanted[-1][0] < wanted[0][0] - 0.1, "nothing was learned"
        assert max(norm for _, _, norm in wanted) > 1, "nothing was clipped"
    # Other details than these give losses that this would see.
    for other in ("--preset=google", "--preset=tf2", "--decay=linear", "--clip_norm=0", "--adam_epsilon=1e-6"):
        found = ours(command, work / f"{name}{other}", rate, f"--init_checkpoint={start}", "--preset=hf", other, *decay, *flags)
        losses = largest(found, wanted, 0)
        print(f"peers: {name}, {other}: {losses:.1e}")
        assert losses > TOLERANCE, other


def masked_words(records):
    """The batch as BertForPreTraining takes it: -100 where nothing is asked."""
    labels = torch.full((len(records), len(records[0]["input_ids"])), -100)
    for row, record in enumerate(records):
        for position, piece, weight in zip(record["masked_lm_positions"], record["masked_lm_ids"], record["masked_lm_weights"], strict=True):
            if weight:
                labels[row, position] = piece
    names = {"input_ids": "input_ids", "segment_ids": "token_type_ids", "input_mask": "attention_mask"}
    batch = {name: torch.tensor([record[feature] for record in records]) for feature, name in names.items()}
    return batch | {"labels": labels, "next_sentence_label": torch.tensor([record["next_sentence_labels"][0] for record in records])}


run("pretrain", "--input_file=data.tfrecord", "--vocab_file=vocab.txt", "--model=tiny", f"--output_dir={work}/before", "--preset=hf",
    "--num_train_steps=5", "--train_batch_size=8", "--learning_rate=1e-3")
start = without_dropout(work / "before" / "model")
# A masked word may become any piece, of 80 that we have here also [PAD]: its row gets no gradient in transformers (padding_idx), in BERT it does.
records = [r for r in read_records("data.tfrecord") if 0 not in r["input_ids"][:sum(r["input_mask"])]][:STEPS * BATCH]
write_records(work / "some.tfrecord", records)
batches = [masked_words(records[i:i + BATCH]) for i in range(0, len(records), BATCH)]
compare("pre-training", "pretrain", start, BertForPreTraining, batches, f"--input_file={work}/some.tfrecord")
alone = [{name: value for name, value in batch.items() if name != "next_sentence_label"} for batch in batches]
compare("masked words alone", "pretrain", start, BertForMaskedLM, alone, f"--input_file={work}/some.tfrecord", "--nonext_sentence")

table = work / "table.jsonl"
table.write_text("".join(json.dumps({"text": a, "text_b": b, "label": c}) + "\n" for a, b, c in ROWS))
task = [f"--train_file={table}", f"--dev_file={table}", "--text_b_column=text_b", f"--max_seq_length={LENGTH}", "--classifier_dropout=0"]
run("finetune", *task, f"--init_checkpoint={start}", f"--output_dir={work}/head", "--num_train_steps=1", "--learning_rate=1e-3", "--preset=hf")
start = work / "head" / "model"  # the dropouts of what it began from
tokenizer = AutoTokenizer.from_pretrained(start)
numbers = json.loads((start / "config.json").read_text())["label2id"]
batches = []
for rows in (ROWS[i:i + BATCH] for i in range(0, len(ROWS), BATCH)):
    texts, pairs, kinds = zip(*rows)
    labels = torch.tensor([numbers[kind] for kind in kinds])
    inputs = tokenizer(list(texts), list(pairs), padding="max_length", truncation="longest_first", max_length=LENGTH, return_tensors="pt")
    batches.append(dict(inputs) | {"labels": labels})
compare("fine-tuning", "finetune", start, BertForSequenceClassification, batches, *task)
