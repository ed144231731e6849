# A classifier saved by torch in each of its forms, and in several files: our program predicts from them as from our own folder.
# Usage: weights.py PROGRAM MODEL_FOLDER TABLE ROWS
import os
import shutil
import subprocess
import sys

import torch
from huggingface_hub import save_torch_state_dict
from transformers import BertForSequenceClassification

program, folder, table, rows = sys.argv[1:]
model = BertForSequenceClassification.from_pretrained(folder)
state = model.state_dict()
turned = {name: t.t().contiguous().t() if t.dim() == 2 else t for name, t in state.items()}  # the same values, out of order


def few(path):
    save_torch_state_dict(state, path, filename_pattern="pytorch_model{suffix}.bin", safe_serialization=False, max_shard_size="100KB")


forms = {
    "zip": lambda path: torch.save(state, f"{path}/pytorch_model.bin"),
    "old": lambda path: torch.save(state, f"{path}/pytorch_model.bin", _use_new_zipfile_serialization=False),
    "protocol5": lambda path: torch.save(state, f"{path}/pytorch_model.bin", pickle_protocol=5),
    "turned": lambda path: torch.save(turned, f"{path}/pytorch_model.bin"),
    "wrapped": lambda path: torch.save({"epoch": 1, "model": state}, f"{path}/pytorch_model.bin"),
    "bin_shards": few,
    "shards": lambda path: model.save_pretrained(path, max_shard_size="100KB"),
}
with open(rows) as f:
    wanted = f.read()
for form, save in forms.items():
    path = f"weights_{form}"
    shutil.copytree(folder, path, ignore=shutil.ignore_patterns("model.safetensors"))
    save(path)
    if "shards" in form and sum("-of-" in name for name in os.listdir(path)) < 2:
        sys.exit(f"{form}: one file is no test of several")
    found = subprocess.run([program, "predict", f"--model_dir={path}", f"--input_file={table}", "--logits"], capture_output=True, text=True)
    if found.stdout != wanted:
        sys.exit(f"{form}: {found.stderr}{found.stdout} instead of {wanted}")
print(f"weights: {len(forms)} forms of torch's files give the same predictions to the bit")
