# Entities scored by seqeval and by the PyPI package conlleval, which both follow the script of the shared tasks: equal to what evaluate
# prints. The tags that are scored are a random model's, in each scheme, orders that no scheme allows among them, and against
# them those of entities, of anything, and of the model with a tag changed here and there. Usage: entities.py PROGRAM VOCABULARY
import json
import random
import subprocess
import sys

import conlleval
from seqeval.metrics import accuracy_score, classification_report, f1_score, precision_score, recall_score

program, vocabulary = sys.argv[1:]
POSITIONS = {"IOB1": "BI", "IOB2": "BI", "IOBES": "BIES"}
TYPES = ["PER", "LOC", "MISC-x"]
WORDS = ["the", "small", "cat", "number", "sat", "on", "a", "mat", "birds", "until", "noon", "9/7/1992", "sleeping"]
random.seed(1)
with open("entities.json", "w") as f:
    json.dump({"vocab_size": 80, "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32,
               "max_position_embeddings": 32, "type_vocab_size": 2, "initializer_range": 1.0}, f)


def run(*flags):
    done = subprocess.run([program, *flags], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(flags)}:\n{done.stderr}")
    return done.stdout


def entities(scheme, words):
    tags, last = [], None
    while len(tags) < words:
        kind, length = random.choice([None, None, *TYPES]), random.randint(1, min(4, words - len(tags)))
        if not kind:
            tags += ["O"]
        elif scheme == "IOBES":
            tags += [f"S-{kind}"] if length == 1 else [f"B-{kind}", *[f"I-{kind}"] * (length - 2), f"E-{kind}"]
        else:  # of IOB1 B alone parts neighbours of a type
            begin = "B" if scheme == "IOB2" or last == kind else "I"
            tags += [f"{begin}-{kind}", *[f"I-{kind}"] * (length - 1)]
        last = kind
    return tags


def write(path, sentences, tags):
    with open(path, "w") as f:
        for words, mine in zip(sentences, tags):
            f.write("".join(f"{word} {tag}\n" for word, tag in zip(words, mine)) + "\n")


def read(text):  # the last two columns, by sentence
    return [[line.split()[-2:] for line in part.split("\n")] for part in text.strip().split("\n\n")]


def same(what, ours, theirs):
    assert abs(ours - theirs) < 1e-12, (what, ours, theirs)


compared = counted = 0
for scheme, positions in POSITIONS.items():
    alphabet = ["O", *[f"{position}-{kind}" for position in positions for kind in TYPES]]
    sentences = [[random.choice(WORDS) for _ in range(random.randint(1, 40))] for _ in range(150)]
    known = [entities(scheme, len(words)) for words in sentences]
    write("known.conll", sentences, known)
    run("finetune", "--task=tagging", "--train_file=known.conll", "--dev_fraction=0", f"--vocab_file={vocabulary}",
        "--bert_config_file=entities.json", f"--output_dir=tagger_{scheme}", "--num_train_steps=1", f"--labels={','.join(alphabet)}")
    predict = ["predict", f"--model_dir=tagger_{scheme}", "--output_format=conlleval"]
    predicted = [[tag for _, tag in sentence] for sentence in read(run(*predict, "--input_file=known.conll"))]
    assert len({tag for tags in predicted for tag in tags}) > 3, "a model that says the same of all words shows nothing"
    anything = [[random.choice(alphabet) for _ in words] for words in sentences]
    changed = [[random.choice(alphabet) if random.random() < 0.15 else tag for tag in tags] for tags in predicted]
    for gold in known, anything, changed:
        write("gold.conll", sentences, gold)
        columns = run(*predict, "--input_file=gold.conll")
        assert read(columns) == [[list(pair) for pair in zip(*both)] for both in zip(gold, predicted)]
        ours = json.loads(run("evaluate", f"--model_dir=tagger_{scheme}", "--input_file=gold.conll", "--json"))
        same("precision", ours["eval_precision"], precision_score(gold, predicted))
        same("recall", ours["eval_recall"], recall_score(gold, predicted))
        same("F1", ours["eval_f1"], f1_score(gold, predicted))
        same("accuracy", ours["eval_accuracy"], accuracy_score(gold, predicted))
        report = classification_report(gold, predicted, output_dict=True, zero_division=0)
        script = conlleval.evaluate(columns.split("\n"))
        chunks = script["overall"]["chunks"]["evals"]
        same("conlleval", ours["eval_f1"], chunks["f1"])
        same("conlleval", ours["eval_precision"], chunks["prec"])
        same("conlleval", ours["eval_recall"], chunks["rec"])
        for kind in TYPES:
            mine, its, theirs = ours["classes"][kind], report[kind], script["slots"]["chunks"][kind]
            for name, key in ("precision", "precision"), ("recall", "recall"), ("f1", "f1-score"), ("support", "support"):
                same(f"{kind} {name}", mine[name], its[key])
            same(kind, mine["f1"], theirs["evals"]["f1"])
            same(kind, mine["support"], theirs["stats"]["gold"])
        counted += script["overall"]["chunks"]["stats"]["correct"]
        compared += 1
assert counted > 1000, counted
print(f"peers: {compared} files of tags, {counted} entities found: scores of seqeval and conlleval")
