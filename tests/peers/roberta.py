# Compares transformers' RoBERTa with ours: a small random one read, fine-tuned and read back: roberta.py PROGRAM BYTE_BPE_FOLDER [GOLDEN]
# With GOLDEN, a folder, writes there a smaller model and what it gives (tests/data/roberta).
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
from safetensors.torch import save_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer, RobertaConfig, RobertaForMaskedLM
from transformers import RobertaForSequenceClassification, RobertaTokenizer

program, pieces, *golden = sys.argv[1:]
LABELS = ["animal", "sky", "tool"]
ROWS = [("a cat on the mat", "it's small", "animal"), ("birds' wings and the air at noon", "we'll see them fly", "sky"),
        ("  a hammer, 12 nails", "don't ½ the wood\u3000café", "tool"), ("猫 🐈 cat", "\u00e9t\u00e9", "animal"),
        ("the sky at night is deep and dark and wide " * 9, "stars " * 20, "sky"), ("saw", "w", "tool")]


def run(*arguments):
    return subprocess.run([program, *arguments], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True).stdout


def models(hidden, positions):
    """Two heads on one random encoder; biases and norms too are drawn, so that none is without effect."""
    torch.manual_seed(5)
    config = RobertaConfig(vocab_size=len(json.loads(pathlib.Path(pieces, "vocab.json").read_text())), hidden_size=hidden,
                           num_hidden_layers=2, num_attention_heads=2, intermediate_size=2 * hidden,
                           max_position_embeddings=positions + 2, type_vocab_size=1, layer_norm_eps=1e-5,
                           hidden_dropout_prob=0.1, num_labels=len(LABELS), id2label=dict(enumerate(LABELS)),
                           label2id={label: i for i, label in enumerate(LABELS)})
    classifier, filler = RobertaForSequenceClassification(config), RobertaForMaskedLM(config)
    for model in (classifier, filler):
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter, std=0.2)
    filler.roberta.load_state_dict(classifier.roberta.state_dict())
    return classifier.eval(), filler.eval()


def logits(model, tokenizer, *texts, length=None):
    with torch.no_grad():
        return model(**tokenizer(*texts, return_tensors="pt", truncation=True, max_length=length)).logits[0]


def compare(folder, table, what, pairs=True, length=128):
    """The logits of each row's classes."""
    model, loading = AutoModelForSequenceClassification.from_pretrained(folder, output_loading_info=True)
    assert type(model).__name__ == "RobertaForSequenceClassification", type(model)
    assert not loading["missing_keys"] and not loading["unexpected_keys"], loading
    tokenizer = AutoTokenizer.from_pretrained(folder)
    flags = ["--text_b_column=text_b"] if pairs else []
    worst = 0.0
    rows = run("predict", f"--model_dir={folder}", f"--input_file={table}", "--logits", *flags)
    for (a, b, _), row in zip(ROWS, (json.loads(line) for line in rows.splitlines()), strict=True):
        want = logits(model.eval(), tokenizer, *([a, b] if pairs else [a]), length=length)
        for i, label in model.config.id2label.items():
            worst = max(worst, abs(want[i].item() - row["logits"][label]))
    assert worst < 1e-5, worst
    print(f"peers: RoBERTa {what}: {len(ROWS)} rows, largest difference of a logit {worst:.1e}")


with tempfile.TemporaryDirectory() as work:
    work = pathlib.Path(work)
    classifier, filler = models(48, 300)
    tokenizer = RobertaTokenizer.from_pretrained(pieces)
    for name, model in (("classifier", classifier), ("filler", filler)):
        model.save_pretrained(work / name)
        tokenizer.save_pretrained(work / name)
    table = work / "table.jsonl"
    table.write_text("".join(json.dumps({"text": a, "text_b": b, "label": c}) + "\n" for a, b, c in ROWS))
    compare(work / "classifier", table, "of transformers, pairs")
    compare(work / "classifier", table, "of transformers, single texts", pairs=False)

    texts = work / "texts.txt"
    texts.write_text("the <mask> of the\n<mask> cat's <mask>\n")
    rows = [json.loads(line) for line in run("predict", f"--model_dir={work}/filler", f"--input_file={texts}", "--top_k=3", "--logits").splitlines()]
    for text, row in zip(texts.read_text().splitlines(), rows, strict=True):
        ids = tokenizer(text, return_tensors="pt")["input_ids"]
        with torch.no_grad():
            all_logits = filler(ids).logits[0]
        for mask, place in zip(row["masks"], (ids[0] == tokenizer.mask_token_id).nonzero()[:, 0], strict=True):
            want = all_logits[place].topk(3)
            assert [f["id"] for f in mask] == want.indices.tolist(), (mask, want)
            assert all(abs(f["logit"] - p) < 1e-5 for f, p in zip(mask, want.values.tolist(), strict=True)), (mask, want)
    print("peers: RoBERTa fills <mask> as transformers does")

    for start in ("filler", "classifier"):
        run("finetune", f"--train_file={table}", f"--dev_file={table}", "--text_b_column=text_b", f"--init_checkpoint={work}/{start}",
            f"--output_dir={work}/tuned-{start}", "--max_seq_length=300", "--num_train_steps=12", "--train_batch_size=3",
            "--learning_rate=1e-3")
        compare(work / f"tuned-{start}" / "model", table, f"fine-tuned from the {start}", length=300)
        back = AutoTokenizer.from_pretrained(work / f"tuned-{start}" / "model")
        for a, b, _ in ROWS:
            assert back(a, b)["input_ids"] == tokenizer(a, b)["input_ids"], (a, b)
    scores = run("evaluate", f"--model_dir={work}/tuned-filler", f"--input_file={table}", "--text_b_column=text_b")
    assert "accuracy" in scores, scores

    if golden:
        folder = pathlib.Path(golden[0])
        folder.mkdir(parents=True, exist_ok=True)
        classifier, filler = models(16, 48)
        tensors = {**filler.state_dict(), **classifier.state_dict()}
        tensors = {n: t for n, t in tensors.items() if "position_ids" not in n and "decoder" not in n}
        save_file({n: t.contiguous() for n, t in tensors.items()}, folder / "model.safetensors")
        config = classifier.config.to_dict()
        config["architectures"] = ["RobertaForSequenceClassification"]
        config.pop("transformers_version", None)
        (folder / "config.json").write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")
        rows = []
        for a, b, _ in ROWS[:4]:
            ids = tokenizer(a, b, return_tensors="pt", truncation=True, max_length=48)["input_ids"]
            with torch.no_grad():
                words = filler(ids).logits[0]
            rows.append({"text": a, "text_b": b, "ids": ids[0].tolist(),
                         "logits": [round(x, 7) for x in logits(classifier, tokenizer, a, b, length=48).tolist()],
                         "word_logits": [round(x, 6) for x in words[1, ::5].tolist()]})
        (folder / "expected.json").write_text(json.dumps(rows, separators=(",", ":")) + "\n")
