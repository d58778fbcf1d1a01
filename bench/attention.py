"""Which fraction of the processor's peak does attention reach on one core, compared with NumPy's BLAS?

Heads are views of [batch, length, heads * depth], as in models.  With a single query, keys and values are contiguous per
head, as in a cache, and the run is bound by memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np

from measure import Row, row
from products import peak, prepare_steps, time_call
from sardonyx._src.compile.kernels.attention.attention import attention_steps
from sardonyx._src.compile.program import Buffer, TensorView, row_major_strides
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array

SIZES = [(12, 128, 128, 64), (12, 512, 512, 64), (8, 256, 256, 128), (12, 197, 197, 64), (12, 1, 1024, 64)]
RUNS = 15
CACHE_LINE_BYTES = 64


def aligned_array(shape: tuple[int, ...]) -> Array:
    """An array of random numbers, aligned to a cache line."""
    count = int(np.prod(shape))
    memory = np.empty(count * 4 + CACHE_LINE_BYTES, np.uint8)
    start = -memory.ctypes.data % CACHE_LINE_BYTES
    array = memory[start : start + count * 4].view(np.float32).reshape(shape)
    array[...] = np.random.default_rng(1).normal(size=shape)
    return array


def compare(heads: int, queries: int, keys: int, depth: int, limit: float) -> list[Row]:
    """Rows of both tools, run in turn; the first run warms up and is not counted."""
    order = (0, 1, 2, 3) if queries == 1 else (0, 2, 1, 3)
    arrays = [
        aligned_array((1, heads, length, depth) if queries == 1 else (1, length, heads, depth))
        for length in (queries, keys, keys, queries)
    ]
    buffers = [Buffer("arena", array.nbytes, "") for array in arrays]
    tensors = [
        TensorView(DataType.FLOAT, a.shape, row_major_strides(a.shape), s).permute(order)
        for a, s in zip(arrays, buffers, strict=True)
    ]
    scale = depth**-0.5
    q, k, v, y = (array.transpose(order) for array in arrays)
    run_steps = prepare_steps(attention_steps(*tensors, scale=scale), dict(zip(buffers, arrays, strict=True)))
    tools: dict[str, Callable[[], object]] = {
        "sardonyx": run_steps,
        "numpy": lambda: numpy_attention(q, k, v, scale),
    }
    samples: dict[str, list[dict[str, float]]] = {tool: [] for tool in tools}
    for repetition in range(RUNS + 1):
        for tool, run in tools.items():
            seconds = time_call(run)
            if repetition:
                samples[tool].append({"seconds": seconds})
    np.testing.assert_allclose(y, numpy_attention(q, k, v, scale), 1e-3, 1e-5)
    best = min(s["seconds"] for s in samples["sardonyx"])
    share = 4 * heads * queries * keys * depth / best / 1e9 / limit
    description = (
        f"attention {heads} x {queries} x {keys} x {depth}, at best {share:.0%} of {limit:.0f} GFLOP/s"
    )
    return [row(description, tool, timings) for tool, timings in samples.items()]


def numpy_attention(q: Array, k: Array, v: Array, scale: float) -> Array:
    scores = q @ k.swapaxes(2, 3) * np.float32(scale)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    result: Array = weights / weights.sum(axis=-1, keepdims=True) @ v
    return result


def rows() -> list[Row]:
    measured = peak()
    return [row for size in SIZES for row in compare(*size, measured())]


if __name__ == "__main__":
    assert os.environ.get("OPENBLAS_NUM_THREADS") == "1", (
        "OPENBLAS_NUM_THREADS must be 1: the question is about one core"
    )
    rows()
