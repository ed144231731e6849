# Vectors of layers, and their pooling: those of transformers. Usage: embed.py PROGRAM MODEL_FOLDER TEXTS
import json
import subprocess
import sys

import numpy as np
import safetensors.numpy
from transformers import AutoTokenizer, BertModel

program, folder, file = sys.argv[1:]
with open(file, encoding="utf-8") as f:
    texts = f.read().split("\n")[:-1]
tokenizer = AutoTokenizer.from_pretrained(folder)
model = BertModel.from_pretrained(folder).eval()


def embed(*flags):
    command = [program, "embed", f"--model_dir={folder}", f"--input_file={file}", *flags]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


by_token = [json.loads(line) for line in embed("--pooling=none", "--layers=-1,0").splitlines()]
mean = [json.loads(line) for line in embed("--pooling=mean", "--layers=-2").splitlines()]
embed("--pooling=cls", "--layers=-1,-2", "--output_file=cls.npy")
embed("--pooling=max", "--output_file=max.safetensors")
cls, largest = np.load("cls.npy"), safetensors.numpy.load_file("max.safetensors")["embeddings"]
assert len(by_token) == len(mean) == len(cls) == len(largest) == len(texts)
worst = 0.0
for i, text in enumerate(texts):
    inputs = tokenizer(text, return_tensors="pt")
    states = [s[0].detach().numpy() for s in model(**inputs, output_hidden_states=True).hidden_states]
    tokens = by_token[i]["features"]
    assert [t["token"] for t in tokens] == tokenizer.convert_ids_to_tokens(inputs["input_ids"][0]), text
    pairs = [(mean[i]["layers"][0]["values"], states[-2].mean(0)), (cls[i, 0], states[-1][0]),
             (cls[i, 1], states[-2][0]), (largest[i], states[-1].max(0))]
    for j, token in enumerate(tokens):
        pairs += [(token["layers"][0]["values"], states[-1][j]), (token["layers"][1]["values"], states[1][j])]
    worst = max([worst] + [float(np.abs(np.array(a) - b).max()) for a, b in pairs])
if worst > 1e-5:
    sys.exit(f"vectors differ by up to {worst}")
print(f"embed: {len(texts)} texts, vectors within {worst:.1g} of transformers'")
