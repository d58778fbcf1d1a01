"""How long does a token take in a loop that calls a small decoder with a past that grows, compared with onnxruntime?

Every call has sizes that no call had before.  The decoder has two layers of width 64.  The table gives CPU microseconds of
a token with one thread: of the loop, and of calls that repeat one size.  `python bench/growing_past.py 200` decodes 200 tokens.
"""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import onnxruntime

import sardonyx as sx
from sardonyx._src.ir import Array

LAYERS, WIDTH, HEADS, DEPTH, VOCABULARY, POSITIONS = 2, 64, 4, 16, 128, 1024
ROUNDS = 40
Feeds = dict[str, Array]


def decoder() -> bytes:
    """A model of tokens [1, S] and a past [1, heads, P, depth] for each layer and for keys and values."""
    b, draw = sx.Builder(21), np.random.default_rng(0)

    def weight(*shape: int) -> Array:
        return draw.standard_normal(shape).astype(np.float32) * np.float32(0.1)

    def heads_of(x: sx.ir.Value) -> sx.ir.Value:
        split = b.Reshape(b.MatMul(x, weight(WIDTH, WIDTH)), np.array([0, 0, HEADS, DEPTH]))
        return b.Transpose(split, perm=[0, 2, 1, 3])

    tokens, positions = (b.input(name, sx.DataType.INT64, [1, "S"]) for name in ("tokens", "positions"))
    h = b.Add(b.Gather(weight(VOCABULARY, WIDTH), tokens), b.Gather(weight(POSITIONS, WIDTH), positions))
    presents = []
    for layer in range(LAYERS):
        pasts = [b.input(f"past_{kind}{layer}", sx.DataType.FLOAT, [1, HEADS, "P", DEPTH]) for kind in "kv"]
        x = b.LayerNormalization(h, np.ones(WIDTH, np.float32))
        q, k, v = (heads_of(x) for _ in range(3))
        k, v = (b.Concat(past, new, axis=2) for past, new in zip(pasts, (k, v), strict=True))
        presents += [k, v]
        scores = b.Mul(b.MatMul(q, b.Transpose(k, perm=[0, 1, 3, 2])), np.float32(DEPTH**-0.5))
        mixed = b.Transpose(b.MatMul(b.Softmax(scores), v), perm=[0, 2, 1, 3])
        h = b.Add(h, b.MatMul(b.Reshape(mixed, np.array([0, 0, WIDTH])), weight(WIDTH, WIDTH)))
        inner = b.Relu(
            b.MatMul(b.LayerNormalization(h, np.ones(WIDTH, np.float32)), weight(WIDTH, 4 * WIDTH))
        )
        h = b.Add(h, b.MatMul(inner, weight(4 * WIDTH, WIDTH)))
    b.output(b.MatMul(h, weight(WIDTH, VOCABULARY)), "logits")
    for number, present in enumerate(presents):
        b.output(present, f"present_{number}")
    saved = io.BytesIO()
    sx.save(b.model(), saved)
    return saved.getvalue()


def feeds_of(length: int) -> Feeds:
    """One token after a past of this length."""
    past = np.zeros((1, HEADS, length, DEPTH), np.float32)
    pasts = {f"past_{kind}{layer}": past for layer in range(LAYERS) for kind in "kv"}
    return {"tokens": np.array([[1]]), "positions": np.array([[length]]), **pasts}


def decode(run: Callable[[Feeds], list[Array]], count: int) -> list[int]:
    """The likeliest tokens after token 1."""
    feeds, tokens = feeds_of(0), []
    for length in range(1, count + 1):
        logits, *presents = run(feeds)
        tokens.append(int(logits[0, -1].argmax()))
        names = list(feeds)[2:]
        feeds = {"tokens": np.array([[tokens[-1]]]), "positions": np.array([[length]])}
        feeds.update(zip(names, presents, strict=True))
    return tokens


def repeat(run: Callable[[Feeds], list[Array]], feeds: Feeds, count: int) -> None:
    """Calls with the same feeds, whose results are freed at once."""
    for _ in range(count):
        run(feeds)


def microseconds(calls: list[Callable[[], object]], count: int) -> list[float]:
    """The least CPU microseconds of each call, run in turn, divided by a count."""
    samples: list[list[float]] = [[] for _ in calls]
    for _ in range(ROUNDS):
        for call, times in zip(calls, samples, strict=True):
            start = time.process_time()
            call()
            times.append(time.process_time() - start)
    return [min(times) / count * 1e6 for times in samples]


def main(count: int) -> None:
    model, options = decoder(), onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = sx.Session(model, threads=1)
    other = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    runs: list[Callable[[Feeds], list[Array]]] = [
        lambda feeds: list(session.run(feeds).values()),
        lambda feeds: other.run(None, feeds),
    ]
    assert decode(runs[0], count) == decode(runs[1], count), "the tokens must be equal"
    middle = feeds_of(count // 2)
    print(f"{'':24}{'sardonyx':>10}{'onnxruntime':>13}")
    table: dict[str, list[Callable[[], object]]] = {
        "a token": [partial(decode, run, count) for run in runs],
        "a call of one size": [partial(repeat, run, middle, count) for run in runs],
    }
    for what, calls in table.items():
        ours, theirs = microseconds(calls, count)
        print(f"{what:24}{ours:>10.1f}{theirs:>13.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
