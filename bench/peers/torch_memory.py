"""Peak memory of pre-training steps of BERT-base by transformers and torch on the batch of step_bench: 16 x 128 tokens.

Usage: python torch_memory.py [SEQUENCES [TOKENS]]; prints the peak of the process and what was there before the model.
"""
import resource
import sys

import torch
import transformers


def peak_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


sequences = int(sys.argv[1]) if len(sys.argv) > 1 else 16
tokens = int(sys.argv[2]) if len(sys.argv) > 2 else 128
torch.set_num_threads(2)
torch.manual_seed(1)
before = peak_mib()
model = transformers.BertForPreTraining(transformers.BertConfig())
model.train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
ids = torch.randint(1000, 30000, (sequences, tokens))
labels = torch.where(torch.rand(ids.shape) < 0.15, ids, -100)
for _ in range(3):
    optimizer.zero_grad(set_to_none=True)
    loss = model(input_ids=ids, labels=labels, next_sentence_label=torch.zeros(sequences, dtype=torch.long)).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
print(f"torch {torch.__version__}, transformers {transformers.__version__}: {sequences} x {tokens} tokens, "
      f"peak memory {peak_mib()} MiB, of which {before} MiB before the model, loss {loss.item():.4f}")
