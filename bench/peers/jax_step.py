# Times a jitted JAX step of the mathematics of bench/step_bench.cpp: BERT's masked words and next
# sentence, dropout 0.1, clipping by the global norm, AdamW; parameters and moments are donated.
# Usage: python jax_step.py [base|mini|tiny [SEQUENCES [TOKENS]]]   (pip install jax)
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

SHAPES = {"base": (12, 768, 16), "mini": (4, 256, 32), "tiny": (2, 128, 32)}
VOCABULARY, POSITIONS, EPSILON, RATE = 30522, 512, 1e-12, 0.1


def normal(rng, *shape):
    return np.clip(rng.standard_normal(shape), -2, 2).astype(np.float32) * 0.02


def dense(rng, rows, columns):
    return {"kernel": normal(rng, rows, columns), "bias": np.zeros(columns, np.float32)}


def norm(size):
    return {"gamma": np.ones(size, np.float32), "beta": np.zeros(size, np.float32)}


def first_parameters(layers, h):
    rng = np.random.default_rng(1)
    encoder = [
        {
            "query": dense(rng, h, h), "key": dense(rng, h, h), "value": dense(rng, h, h),
            "projection": dense(rng, h, h), "first_norm": norm(h),
            "intermediate": dense(rng, h, 4 * h), "output": dense(rng, 4 * h, h), "second_norm": norm(h),
        }
        for _ in range(layers)
    ]
    return {
        "word": normal(rng, VOCABULARY, h), "type": normal(rng, 2, h), "place": normal(rng, POSITIONS, h),
        "norm": norm(h), "encoder": encoder, "pooler": dense(rng, h, h), "transform": dense(rng, h, h),
        "transform_norm": norm(h), "word_bias": np.zeros(VOCABULARY, np.float32), "next": dense(rng, h, 2),
    }


def apply(layer, x):
    return x @ layer["kernel"] + layer["bias"]


def normalize(layer, x):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + EPSILON) * layer["gamma"] + layer["beta"]


def dropout(key, x):
    return jnp.where(jax.random.bernoulli(key, 1 - RATE, x.shape), x / (1 - RATE), 0)


def attention(layer, x, visible, heads, key):
    batch, tokens, h = x.shape
    split = lambda y: y.reshape(batch, tokens, heads, h // heads).transpose(0, 2, 1, 3)
    q, k, v = (split(apply(layer[name], x)) for name in ("query", "key", "value"))
    scores = jnp.einsum("bnqd,bnkd->bnqk", q, k) / np.sqrt(h // heads)
    p = dropout(key, jax.nn.softmax(jnp.where(visible, scores, -1e9)))
    return jnp.einsum("bnqk,bnkd->bnqd", p, v).transpose(0, 2, 1, 3).reshape(batch, tokens, h)


def loss_of(p, batch, heads, key):
    keys = iter(jax.random.split(key, 3 * len(p["encoder"]) + 1))
    ids, visible = batch["ids"], (batch["example"][:, None, :, None] == batch["example"][:, None, None, :])
    x = p["word"][ids] + p["type"][batch["types"]] + p["place"][: ids.shape[1]]
    x = dropout(next(keys), normalize(p["norm"], x))
    for layer in p["encoder"]:
        y = apply(layer["projection"], attention(layer, x, visible, heads, next(keys)))
        x = normalize(layer["first_norm"], x + dropout(next(keys), y))
        y = apply(layer["output"], jax.nn.gelu(apply(layer["intermediate"], x), approximate=True))
        x = normalize(layer["second_norm"], x + dropout(next(keys), y))
    masked = x.reshape(-1, x.shape[-1])[batch["slots"]]
    masked = normalize(p["transform_norm"], jax.nn.gelu(apply(p["transform"], masked), approximate=True))
    words = jax.nn.log_softmax(masked @ p["word"].T + p["word_bias"])
    word_loss = -jnp.take_along_axis(words, batch["labels"][:, None], 1).mean()
    following = jax.nn.log_softmax(apply(p["next"], jnp.tanh(apply(p["pooler"], x[:, 0]))))
    return word_loss - jnp.take_along_axis(following, batch["next"][:, None], 1).mean()


def make_step(heads):
    def step(p, m, v, batch, key, rate):
        loss, g = jax.value_and_grad(loss_of)(p, batch, heads, key)
        length = jnp.sqrt(sum(jnp.sum(x * x) for x in jax.tree.leaves(g)))
        scale = jnp.minimum(1.0, 1.0 / length)
        g = jax.tree.map(lambda x: x * scale, g)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
        p = jax.tree.map(lambda p, m, v: p - rate * (m / (jnp.sqrt(v) + 1e-6) + 0.01 * p), p, m, v)
        return p, m, v, loss

    return jax.jit(step, donate_argnums=(0, 1, 2))


def main():
    name = sys.argv[1] if len(sys.argv) > 1 else "base"
    layers, h, sequences = SHAPES[name]
    sequences = int(sys.argv[2]) if len(sys.argv) > 2 else sequences
    tokens = int(sys.argv[3]) if len(sys.argv) > 3 else 128
    rng = np.random.default_rng(2)
    ids = rng.integers(0, VOCABULARY, (sequences, tokens)).astype(np.int32)
    inside = np.array([i for i in range(tokens) if i % 7 == 3])
    slots = (np.arange(sequences)[:, None] * tokens + inside).reshape(-1).astype(np.int32)
    batch = {
        "ids": ids, "types": np.tile(np.arange(tokens) >= tokens // 2, (sequences, 1)).astype(np.int32),
        "example": np.tile(np.arange(sequences, dtype=np.int32)[:, None], (1, tokens)),
        "slots": slots, "labels": ids.reshape(-1)[slots], "next": (np.arange(sequences) % 2).astype(np.int32),
    }
    p = jax.device_put(first_parameters(layers, h))
    m, v = jax.tree.map(jnp.zeros_like, p), jax.tree.map(jnp.zeros_like, p)
    step, seconds = make_step(h // 64), []
    for i in range(8):
        start = time.perf_counter()
        p, m, v, loss = step(p, m, v, batch, jax.random.key(i), np.float32(1e-5))
        loss = float(loss)
        seconds.append(time.perf_counter() - start)
        print(f"step {i}: {seconds[-1]:.3f} s, loss {loss:.4f}", flush=True)
    print(f"jax {jax.__version__}, {name}: {sequences} x {tokens} tokens, best {min(seconds[1:]):.3f} s")


main()
