# Compares our vocabularies with those of Hugging Face's trainer, in pieces per word of held-out text: vocabulary.py PROGRAM [CORPUS]
# Without CORPUS the text is the documentation in this Python's own libraries. Every tenth line is held out.
import ast
import pathlib
import subprocess
import sys
import sysconfig
import warnings

from tokenizers import BertWordPieceTokenizer
from tokenizers.models import WordPiece

SIZES = [1000, 4000, 8000, 30000]
LARGEST_RATIO = 1.02
TEXT_BYTES = 8_000_000

program, *corpus = sys.argv[1:]


def documentation():
    """The docstrings of installed modules, in the order of their paths."""
    seen, size = set(), 0
    for folder in ("stdlib", "purelib"):
        for path in sorted(pathlib.Path(sysconfig.get_path(folder)).rglob("*.py")):
            try:
                tree = ast.parse(path.read_bytes())
            except (SyntaxError, ValueError, RecursionError):
                continue
            for node in ast.walk(tree):
                if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                    continue
                for line in (ast.get_docstring(node) or "").splitlines():
                    if len(line) > 40 and line not in seen and line.isprintable():
                        seen.add(line)
                        size += len(line.encode()) + 1
                        yield line
            if size > TEXT_BYTES:
                return


def lines_of(path):
    size = 0
    for line in open(path, encoding="utf-8"):
        size += len(line.encode())
        if size > TEXT_BYTES:
            return
        if line.strip():
            yield line.strip()


warnings.simplefilter("ignore")  # about escapes in the sources that are read
lines = list(lines_of(corpus[0]) if corpus else documentation())
train = [line for i, line in enumerate(lines) if i % 10]
held = lines[::10]
pathlib.Path("train.txt").write_text("\n".join(train) + "\n", encoding="utf-8")
print(f"peers: vocabularies from {sum(len(line.encode()) + 1 for line in train)} bytes, {len(held)} lines held out", flush=True)

worst = 0.0
for lower in (True, False):
    for size in SIZES:
        flag = "--do_lower_case" if lower else "--nodo_lower_case"
        subprocess.run([program, "vocab", "--input_file=train.txt", "--output_file=ours.txt", f"--vocab_size={size}", "--limit_alphabet=1000",
                        "--min_frequency=2", flag], check=True, capture_output=True)
        ours = open("ours.txt", encoding="utf-8").read().split("\n")[:-1]
        theirs = BertWordPieceTokenizer(lowercase=lower)
        theirs.train("train.txt", vocab_size=size, limit_alphabet=1000, min_frequency=2, show_progress=False)
        vocabularies = {"ours": {piece: i for i, piece in enumerate(ours)}, "theirs": theirs.get_vocab()}
        # Fewer than asked for only where the text has no more to give; theirs then ends a few pieces earlier or later.
        sizes = [len(vocabularies["ours"]), len(vocabularies["theirs"])]
        assert len(ours) == sizes[0] <= size and abs(sizes[0] - sizes[1]) <= (0 if max(sizes) == size else size // 1000), sizes
        rate = {}
        for name, vocabulary in vocabularies.items():
            # One tokenizer for both, which differs by the pieces alone.
            tokenizer = BertWordPieceTokenizer(vocabulary, lowercase=lower)
            pieces = words = unknown = 0
            for encoding in tokenizer.encode_batch(held, add_special_tokens=False):
                pieces += len(encoding.ids)
                words += len(set(encoding.word_ids))
                unknown += encoding.ids.count(vocabulary["[UNK]"])
            rate[name] = pieces / words
            rate[name + " unknown"] = unknown
        ratio = rate["ours"] / rate["theirs"]
        worst = max(worst, ratio)
        print(f"peers: {'uncased' if lower else 'cased'} {len(ours)}: pieces per word {rate['ours']:.4f}, theirs {rate['theirs']:.4f}, ratio {ratio:.4f};"
              f" [UNK] {rate['ours unknown']}, theirs {rate['theirs unknown']}; {len(vocabularies['ours'].keys() - vocabularies['theirs'].keys())} pieces not theirs", flush=True)
assert worst <= LARGEST_RATIO, f"{worst:.4f} times the pieces of theirs, at most {LARGEST_RATIO} expected"
