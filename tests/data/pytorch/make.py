# Makes the files beside it with the real torch, safetensors and transformers: make.py FOLDER
import os
import sys

import torch
from huggingface_hub import save_torch_state_dict
from safetensors.torch import save_file
from transformers import BertConfig, BertForSequenceClassification

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
torch.manual_seed(7)


def at(name):
    return os.path.join(folder, name)


# One tensor of each type, and of each way to lie in a storage.
block = torch.arange(24, dtype=torch.float32).reshape(4, 6) / 8
tensors = {
    "f32": torch.tensor([[1.0, -2.0, 3.5], [0.25, 1e-30, 7.0]]),
    "bf16": torch.tensor([1.0, -2.5, 3.0], dtype=torch.bfloat16),
    "f16": torch.tensor([0.5, 65504.0], dtype=torch.float16),
    "i64": torch.tensor([[-1, 2**40]]),
    "i32": torch.tensor([-7, 2**31 - 1], dtype=torch.int32),
    "u8": torch.tensor([0, 255, 3], dtype=torch.uint8),
    "bool": torch.tensor([True, False, True]),
    "scalar": torch.tensor(4.5),
    "empty": torch.zeros(0, 4),
    "turned": block.t(),
    "column": block[:, 2],
    "row": block[2],
    "tied.a": torch.tensor([9.0, 8.0]),
    "parameter": torch.nn.Parameter(torch.tensor([0.125, 0.5])),
}
tensors["tied.b"] = tensors["tied.a"]
save_file({name: t.detach().clone().contiguous() for name, t in tensors.items()}, at("values.safetensors"))
torch.save(tensors, at("zip.bin"))
torch.save(tensors, at("old.bin"), _use_new_zipfile_serialization=False)
torch.save(tensors, at("protocol4.bin"), pickle_protocol=4)
torch.save({"epoch": 3, "loss": 0.5, "state_dict": tensors, "optimizer": {"state": {0: {"exp_avg": block}}}}, at("wrapped.bin"))
torch.save({"u32": torch.tensor([1, 2**32 - 1], dtype=torch.uint32)}, at("u32.bin"))
torch.save({"wide": torch.zeros(2, dtype=torch.float64)}, at("f64.bin"))
torch.save({"model": tensors, "ema": {"f32": tensors["f32"]}}, at("several.bin"))
torch.save(torch.nn.Linear(2, 1), at("whole_model.bin"))
layer = torch.nn.Linear(2, 1)  # a state dict of a module: an OrderedDict with metadata
torch.save(layer.state_dict(), at("module.bin"))
small = {"x": torch.tensor([1.0, 2.0]), "y": torch.tensor([3], dtype=torch.uint8)}
torch.save(small, at("small.bin"))
torch.save(small, at("small_old.bin"), _use_new_zipfile_serialization=False)

# What runs a command as it is unpickled by Python.


class Runs:
    def __reduce__(self):
        return os.system, ("touch bertrain-was-here",)


torch.save({"x": small["x"], "y": Runs()}, at("runs.bin"))
torch.save({"x": small["x"], "y": Runs()}, at("runs_old.bin"), _use_new_zipfile_serialization=False)

# A classifier as a folder of transformers, its weights in each form.
words = "[PAD] [UNK] [CLS] [SEP] [MASK] a cat dog sat on the mat ran home".split()
model = BertForSequenceClassification(BertConfig(
    vocab_size=len(words), hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
    max_position_embeddings=24, id2label={0: "no", 1: "yes"}, label2id={"no": 0, "yes": 1}))
for name in ("model", "model_old", "shards", "shards_bin"):
    os.makedirs(at(name), exist_ok=True)
model.save_pretrained(at("shards"), max_shard_size="4KB")
with open(at("shards/vocab.txt"), "w") as f:
    f.write("\n".join(words) + "\n")
torch.save(model.state_dict(), at("model/pytorch_model.bin"))
torch.save(model.state_dict(), at("model_old/pytorch_model.bin"), _use_new_zipfile_serialization=False)
save_torch_state_dict(model.state_dict(), at("shards_bin"), filename_pattern="pytorch_model{suffix}.bin", safe_serialization=False,
                      max_shard_size="4KB")
