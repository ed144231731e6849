# Compares the transformers library on our folders with what bertrain printed: compare.py PRETRAINED TUNED TABLE ROWS
import json
import sys

import torch
from transformers import AutoModelForPreTraining, AutoModelForSequenceClassification, AutoTokenizer

pretrained, tuned, table, rows = sys.argv[1:]

model, loading = AutoModelForPreTraining.from_pretrained(pretrained, output_loading_info=True)
assert not loading["missing_keys"] and not loading["unexpected_keys"], loading
assert model.config.hidden_act == "gelu_new", model.config.hidden_act

model, loading = AutoModelForSequenceClassification.from_pretrained(tuned, output_loading_info=True)
assert not loading["missing_keys"] and not loading["unexpected_keys"], loading
tokenizer = AutoTokenizer.from_pretrained(tuned)
model.eval()
texts = [line.split("\t")[0] for line in open(table).read().splitlines()[1:]]
ours = [json.loads(line) for line in open(rows)]
assert len(ours) == len(texts), (len(ours), len(texts))
worst = 0.0
for text, row in zip(texts, ours):
    with torch.no_grad():
        logits = model(**tokenizer(text, return_tensors="pt")).logits[0]
    for i, logit in enumerate(logits.tolist()):
        worst = max(worst, abs(logit - row["logits"][model.config.id2label[i]]))
assert worst < 1e-5, worst
print(f"peers: {len(texts)} rows, largest difference of a logit {worst:.1e}")
