# Compares our byte-level BPE with Hugging Face's tokenizers on 1 MB of mixed text: byte_bpe.py PROGRAM [GOLDEN]
# With GOLDEN, a folder, writes there a small tokenizer and the ids it gives (tests/data/byte_bpe).
import ast
import json
import pathlib
import random
import subprocess
import sys
import sysconfig
import tempfile
import unicodedata
import warnings

from tokenizers import AddedToken, ByteLevelBPETokenizer, Tokenizer, pre_tokenizers, processors

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
program, *golden = sys.argv[1:]
warnings.simplefilter("ignore")
draw = random.Random(7)


def documentation(most):
    """Docstrings and comments of this Python's libraries, as they stand."""
    size = 0
    for path in sorted(pathlib.Path(sysconfig.get_path("stdlib")).rglob("*.py")):
        try:
            source = path.read_text()
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, UnicodeDecodeError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and (text := ast.get_docstring(node)):
                size += len(text.encode())
                yield text
        if size > most:
            return


ASSIGNED = [c for c in range(0x110000)
            if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")] if unicodedata.unidata_version <= "14" else [
            c for c in range(0x3000) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]
BLOCKS = [(0x20, 0x7F), (0x09, 0x0E), (0x1C, 0x21), (0x80, 0x180), (0x300, 0x370), (0x370, 0x400), (0x400, 0x460),
          (0x5D0, 0x5EB), (0x620, 0x6FA), (0x900, 0x980), (0xE01, 0xE3B), (0x1100, 0x1200), (0x2000, 0x2070),
          (0x2150, 0x218A), (0x3000, 0x3100), (0x4E00, 0x9FFF), (0xAC00, 0xD7A4), (0xFE00, 0xFE10), (0xFF01, 0xFF5F),
          (0x1D400, 0x1D7FF), (0x1F300, 0x1F64F), (0x20000, 0x2A6D0), (0xE0001, 0xE0080)]
WHOLE = ["'s", "'re", "'ll", "'LL", " don't", "we've", "<mask>", " <mask> ", "<s>", "</s>", "<pad>", "<unk>", "<mask", "\r\n",
         "  \n ", "\u3000\u3000", "e\u0301", "👩‍👩‍👧‍👦", "\x00", "\x1c", "\x85", "\u180e", "\ufffd", "    ", "1½²", "\ufeff", " newtoken", "newtoken"]


def mixed():
    """A line of runs from everywhere."""
    out = ""
    for _ in range(draw.randint(0, 12)):
        kind = draw.random()
        if kind < 0.35:
            out += draw.choice(WHOLE)
        elif kind < 0.45:
            out += chr(draw.choice(ASSIGNED))
        else:
            low, high = draw.choice(BLOCKS)
            run = [chr(draw.randrange(low, high)) for _ in range(draw.randint(1, 9))]
            out += "".join(c for c in run if unicodedata.category(c) not in ("Cn", "Cs"))
        out += draw.choice(["", "", " ", "  ", "\n"])
    return out


def ours(vocabulary, texts, folder, *flags):
    path = pathlib.Path(folder) / "texts.jsonl"
    path.write_text("".join(json.dumps(t) + "\n" for t in texts))
    out = subprocess.run([program, "tokenize", f"--vocab_file={vocabulary}", "--json", "--jsonl", *flags, str(path)],
                         check=True, stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in out.split("\n") if line]


def compare(name, tokenizer, vocabulary, texts, folder, special):
    tokenizer.encode_special_tokens = not special
    flags = ["--special_tokens_in_text"] if special else []
    wrong = pieces = 0
    for text, got in zip(texts, ours(vocabulary, texts, folder, *flags), strict=True):
        want = tokenizer.encode(text, add_special_tokens=False)
        pieces += len(want.ids)
        places = got["offsets"] == [list(o) for o in want.offsets]
        if got["ids"] != want.ids or not (places or tokenizer.pre_tokenizer.add_prefix_space):
            wrong += 1
            if wrong <= 3:
                print(name, repr(text), want.tokens, got["pieces"], want.offsets, got["offsets"], sep="\n  ")
    assert wrong == 0, f"{name}: {wrong} texts differ"
    print(f"peers: {name}: {sum(len(t.encode()) for t in texts)} bytes, {pieces} pieces equal")


def save(tokenizer, folder, space):
    """tokenizer.json as the library writes it, with RoBERTa's parts."""
    tokenizer = Tokenizer.from_str(tokenizer.to_str())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=space)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), True, space)
    tokenizer.add_special_tokens([AddedToken(t, lstrip=t == "<mask>", normalized=False, special=True) for t in SPECIAL])
    tokenizer.add_tokens([AddedToken("newtoken", lstrip=True, rstrip=True)])
    tokenizer.save(str(folder / "tokenizer.json"))
    return Tokenizer.from_file(str(folder / "tokenizer.json"))


with tempfile.TemporaryDirectory() as work:
    work = pathlib.Path(work)
    corpus = list(documentation(400_000)) + [mixed() for _ in range(2000)]
    texts, size = [], 0
    for text in list(documentation(500_000)) + [mixed() for _ in range(40000)]:
        texts.append(text)
        size += len(text.encode())
        if size > 1_000_000:
            break
    texts += ["", " ", "\n", "x" * 5000, " " * 3000, "ab" * 4000 + "é" * 2000]
    draw.shuffle(texts)
    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator(corpus, vocab_size=3000, min_frequency=2, special_tokens=SPECIAL, show_progress=False)
    for space in (False, True):
        folder = work / f"one-{space}"
        folder.mkdir()
        tokenizer = save(trained, folder, space)
        for special in (False, True):
            compare(f"tokenizer.json, add_prefix_space={space}, special tokens {special}", tokenizer,
                    folder / "tokenizer.json", texts, work, special)
    folder = work / "old"  # merges as "left right", as roberta-base itself has them
    folder.mkdir()
    tokenizer = save(trained, folder, False)
    whole = json.loads((folder / "tokenizer.json").read_text())
    whole["model"]["merges"] = [" ".join(merge) for merge in whole["model"]["merges"]]
    (folder / "tokenizer.json").write_text(json.dumps(whole))
    compare("tokenizer.json of old", tokenizer, folder / "tokenizer.json", texts, work, True)
    folder = work / "two"
    folder.mkdir()
    trained.save_model(str(folder))
    new = trained.get_vocab().get("newtoken", trained.get_vocab_size())
    (folder / "added_tokens.json").write_text(json.dumps({"newtoken": new}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": {str(new): {
        "content": "newtoken", "lstrip": True, "rstrip": True, "normalized": True, "special": False}}}))
    compare("vocab.json and merges.txt", save(trained, work, False), folder / "vocab.json", texts, work, True)

    if golden:
        folder = pathlib.Path(golden[0])
        folder.mkdir(parents=True, exist_ok=True)
        small = ByteLevelBPETokenizer()
        small.train_from_iterator(corpus, vocab_size=700, min_frequency=2, special_tokens=SPECIAL, show_progress=False)
        small.save_model(str(folder))
        tokenizer = save(small, work, False)
        tokenizer.encode_special_tokens = False
        lines = []
        for text in ["", " ", "\n", "<mask>", "a <mask>b</s>", "x" * 50, " " * 30] + [t[:120] for t in texts[:160]]:
            if "newtoken" in text:
                continue
            e = tokenizer.encode(text, add_special_tokens=False)
            lines.append(json.dumps({"text": text, "ids": e.ids, "offsets": e.offsets}, separators=(",", ":")) + "\n")
        (folder / "expected.jsonl").write_text("".join(lines))
