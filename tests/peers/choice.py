# Multiple choice beside transformers' BertForMultipleChoice: it opens our folder and gives the same scores, probabilities and loss, for
# choices of different lengths; and a folder that it saves is answered and scored here alike. Usage: choice.py PROGRAM PRETRAINED
import json
import subprocess
import sys

import torch
from transformers import AutoTokenizer, BertConfig, BertForMultipleChoice

program, pretrained = sys.argv[1:]
ROWS = [("the small cat number 3", "it", ["sat on a mat", "looked", "slept until noon and looked at the birds"], 0),
        ("birds", "then they", ["slept", "a cat", "looked at us"], 2),
        ("it looked at the birds and at us until noon", "the cat", ["slept", "sat on a mat at noon", "number 7"], 1),
        ("noon", "", ["a mat", "the birds", "it"], 0)]
with open("choices.csv", "w") as f:
    f.write("sent1,sent2,ending0,ending1,ending2,label\n")
    for context, start, choices, label in ROWS:
        f.write(",".join([context, start, *choices, str(label)]) + "\n")


def run(*flags):
    done = subprocess.run([program, *flags], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(flags)}:\n{done.stderr}")
    return done.stdout


def compare(folder, model):  # the largest difference
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model.eval()
    ours = [json.loads(line) for line in run("predict", f"--model_dir={folder}", "--input_file=choices.csv", "--logits").splitlines()]
    assert len(ours) == len(ROWS)
    worst, loss = 0.0, 0.0
    for row, (context, start, choices, label) in zip(ours, ROWS):
        texts = [f"{start} {choice}".strip() for choice in choices]
        inputs = tokenizer([context] * len(choices), texts, return_tensors="pt", padding=True)
        with torch.no_grad():
            found = model(**{name: value[None] for name, value in inputs.items()}, labels=torch.tensor([label]))
        loss += found.loss.item() / len(ROWS)
        logits, probabilities = found.logits[0], torch.softmax(found.logits[0], 0)
        assert row["label"] == str(int(logits.argmax())), row
        for i in range(len(choices)):
            worst = max(worst, abs(row["logits"][str(i)] - logits[i].item()),
                        abs(row["probabilities"][str(i)] - probabilities[i].item()))
    scores = json.loads(run("evaluate", f"--model_dir={folder}", "--input_file=choices.csv", "--json"))
    worst = max(worst, abs(scores["eval_loss"] - loss))
    assert worst < 1e-5, (folder, worst)
    return worst


run("finetune", "--task=multiple_choice", "--train_file=choices.csv", "--dev_file=choices.csv", f"--init_checkpoint={pretrained}",
    "--output_dir=choices", "--num_train_steps=20", "--train_batch_size=4", "--learning_rate=1e-3")
model, loading = BertForMultipleChoice.from_pretrained("choices/model", output_loading_info=True)
assert not loading["missing_keys"] and not loading["unexpected_keys"], loading
worst = compare("choices/model", model)

torch.manual_seed(1)
tokenizer = AutoTokenizer.from_pretrained("choices/model")
theirs = BertForMultipleChoice(BertConfig(vocab_size=model.config.vocab_size, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
                                          intermediate_size=64, max_position_embeddings=64, initializer_range=0.2))
theirs.save_pretrained("theirs")
tokenizer.save_pretrained("theirs")
worst = max(worst, compare("theirs", theirs))
print(f"peers: {len(ROWS)} rows of 3 choices, of a model made here and of one of transformers, largest difference {worst:.1e}")
