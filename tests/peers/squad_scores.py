# The official scores of SQuAD worked out again in Python, on made-up questions; python3 alone is needed. squad_scores.py PROGRAM compares
# what the program prints as evaluate-v1.1.py and evaluate-v2.0.py, to the byte; squad_scores.py --write FOLDER writes what the tests of
# src/task/squad/squad_scores compare with.
import collections
import json
import os
import random
import re
import string
import subprocess
import sys
import tempfile

WORDS = ["the", "a", "an", "The", "wall", "Wall", "north-wall", "1871", "5.00", "$5", "é", "É", "e\u0301", "ΟΔΟΣ", "οδος", "İstanbul", "ß",
         "the—wall", "a\u0301", "①", "a①", "x_y", "U.S.", "\u00a0", "\u3000", "東京", "a東", "。", "…", "\"", "'s", "the's", "an,", "\t", "and"]


def total(values):  # as sum() before Python 3.12, which has added floats up in another way since
    result = 0
    for value in values:
        result += value
    return result


def words(text):
    kept = "".join(c for c in text.lower() if c not in string.punctuation)
    return re.sub(r"\b(?:the|an|a)\b", " ", kept).split()


def overlap(gold, predicted):
    same = sum(min(n, predicted.count(w)) for w, n in collections.Counter(gold).items())
    if not same:
        return 0
    precision, recall = 1.0 * same / len(predicted), 1.0 * same / len(gold)
    return (2 * precision * recall) / (precision + recall)


def version_one(questions, predictions):
    exact, f1 = 0, 0
    for question in questions:
        if question["id"] in predictions:
            predicted = words(predictions[question["id"]])
            golds = [words(answer["text"]) for answer in question["answers"]]
            exact += max(gold == predicted for gold in golds)
            f1 += max(overlap(gold, predicted) for gold in golds)
    return {"exact_match": 100.0 * exact / len(questions), "f1": 100.0 * f1 / len(questions)}


def version_two(questions, predictions, odds=None, threshold=1.0):
    raw, answerable = {}, {}
    for question in questions:
        golds = [words(answer["text"]) for answer in question["answers"]]
        golds = [gold for gold in golds if gold] or [[]]
        predicted = words(predictions[question["id"]])
        agree = lambda gold: int(gold == predicted) if not gold or not predicted else overlap(gold, predicted)
        raw[question["id"]] = (int(predicted in golds), max(map(agree, golds)))
        answerable[question["id"]] = bool(question["answers"])
    result = {}
    for prefix, chosen in (("", list(raw)), ("HasAns_", [i for i in raw if answerable[i]]), ("NoAns_", [i for i in raw if not answerable[i]])):
        if not chosen:
            continue
        for k, name in enumerate(("exact", "f1")):
            cut = lambda i: float(not answerable[i]) if (odds or {}).get(i, 0.0) > threshold else raw[i][k]
            result[prefix + name] = 100.0 * total(cut(i) for i in chosen) / len(chosen)
        result[prefix + "total"] = len(chosen)
    for k, name in enumerate(("exact", "f1") if odds else ()):
        score = best = sum(not has for has in answerable.values())
        result["best_" + name + "_thresh"] = 0.0
        for i in sorted(odds, key=odds.get):
            score += raw[i][k] if answerable[i] else -bool(predictions[i])
            if score > best:
                best, result["best_" + name + "_thresh"] = score, odds[i]
        result["best_" + name] = 100.0 * best / len(raw)
    order = ["best_exact", "best_exact_thresh", "best_f1", "best_f1_thresh"]
    return {key: result[key] for key in [key for key in result if key not in order] + [key for key in order if key in result]}


def made_up(seed, impossible):
    draw = random.Random(seed)
    text = lambda: "".join(draw.choice(WORDS) + draw.choice(["", " ", " ", "  "]) for _ in range(draw.randint(1, 6)))
    questions, predictions, odds = [], {}, {}
    for i in range(300):
        answers = [] if impossible and draw.random() < 0.4 else [text() for _ in range(draw.randint(1, 3))]
        kind = draw.random()
        predicted = draw.choice(answers) if answers and kind < 0.4 else "" if kind < 0.6 else text()
        if answers and kind > 0.9:
            predicted = answers[0].upper() + " wall."
        questions.append({"id": "q%d" % i, "question": "who ?", "answers": [{"text": a, "answer_start": 0} for a in answers],
                          "is_impossible": not answers})
        predictions["q%d" % i] = predicted
        odds["q%d" % i] = round(draw.uniform(-9, 9) - 4 * bool(answers), 1)  # many are equal
    return questions, predictions, odds


def write(folder):
    for version, impossible in (("v1", False), ("v2", True)):
        questions, predictions, odds = made_up(1 if impossible else 2, impossible)
        data = {"version": version, "data": [{"title": "made up", "paragraphs": [{"context": "x", "qas": questions}]}]}
        files = {"scored-%s.json" % version: data, "scored-%s-predictions.json" % version: predictions}
        if impossible:
            files["scored-v2-null_odds.json"] = odds
            texts = {"plain": version_two(questions, predictions), "odds": version_two(questions, predictions, odds),
                     "threshold": version_two(questions, predictions, odds, -1.5)}
            texts = {name: json.dumps(scores, indent=2) + "\n" for name, scores in texts.items()}
        else:
            for i in range(5):
                del predictions["q%d" % (60 * i)]
            texts = {"plain": json.dumps(version_one(questions, predictions)) + "\n"}
        for name, content in files.items():
            with open(os.path.join(folder, name), "w") as f:
                json.dump(content, f)
        for name, content in texts.items():
            with open(os.path.join(folder, "scored-%s-%s.txt" % (version, name)), "w") as f:
                f.write(content)


def judge(program):
    for seed in range(3, 23):
        impossible = seed % 2 == 1
        questions, predictions, odds = made_up(seed, impossible)
        with tempfile.TemporaryDirectory() as folder:
            def file(name, content):
                path = os.path.join(folder, name)
                with open(path, "w") as f:
                    json.dump(content, f)
                return path

            version = "v2.0" if impossible else "1.1"
            data = file("data.json", {"version": version, "data": [{"title": "made up", "paragraphs": [{"context": "x", "qas": questions}]}]})
            files, thresholds = [data, file("predictions.json", predictions)], ["--na-prob-file", file("null_odds.json", odds)]
            wanted = {(): version_two(questions, predictions), tuple(thresholds): version_two(questions, predictions, odds),
                      (*thresholds, "--na-prob-thresh", "-1.5"): version_two(questions, predictions, odds, -1.5)}
            for flags, scores in (wanted if impossible else {(): version_one(questions, predictions)}).items():
                script = "evaluate-v2.0.py" if impossible else "evaluate-v1.1.py"
                found = subprocess.run([program, script, *files, *flags], capture_output=True, text=True, check=True).stdout
                text = json.dumps(scores, indent=2 if impossible else None) + "\n"
                if found != text:
                    sys.exit(f"seed {seed}, {script} {' '.join(flags)}:\n{found}is printed,\n{text}expected")
    print("peers: 20 files of answers are scored as by the official scripts")


if len(sys.argv) == 3 and sys.argv[1] == "--write":
    write(sys.argv[2])
elif len(sys.argv) == 2:
    judge(sys.argv[1])
else:
    sys.exit("usage: squad_scores.py PROGRAM | --write FOLDER")
