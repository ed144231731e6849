# What fills [MASK]: the pieces and probabilities of transformers' pipeline. Usage: fill_mask.py PROGRAM MODEL_FOLDER TEXT...
import json
import subprocess
import sys

from transformers import AutoTokenizer, pipeline

program, model, texts = sys.argv[1], sys.argv[2], sys.argv[3:]
# A folder says that [MASK] in a text is text; for this it is the piece on both sides.
tokenizer = AutoTokenizer.from_pretrained(model, split_special_tokens=False)
fill = pipeline("fill-mask", model=model, tokenizer=tokenizer, top_k=4)
output = subprocess.run([program, "predict", f"--model_dir={model}", "--top_k=4"], input="\n".join(texts) + "\n",
                        capture_output=True, text=True, check=True).stdout
worst, masks = 0, 0
for text, line in zip(texts, output.splitlines(), strict=True):
    wanted = fill(text)
    wanted = [wanted] if isinstance(wanted[0], dict) else wanted
    found = json.loads(line)["masks"]
    for ours, theirs in zip(found, wanted, strict=True):
        masks += 1
        if len(ours) != len(theirs):
            sys.exit(f"{text}: {len(ours)} pieces where transformers has {len(theirs)}")
        by_id = {b["token"]: b["score"] for b in theirs}
        least = min(by_id.values())
        for a in ours:
            # Of pieces with next to equal probabilities the last one in the list may be another.
            if a["id"] not in by_id and abs(a["probability"] - least) > 1e-7:
                sys.exit(f"{text}: {a}, which transformers does not have among {theirs}")
            worst = max(worst, abs(a["probability"] - by_id.get(a["id"], least)))
if worst > 1e-6:
    sys.exit(f"probabilities differ by up to {worst}")
print(f"fill-mask: {masks} masks as transformers fills them, probabilities within {worst:.1g}")
