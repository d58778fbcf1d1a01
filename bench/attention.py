"""How near the processor's peak does attention come, beside NumPy's BLAS on one core?

Heads are views of [batch, length, heads * depth], as models have them; a single query has its keys and values in a row,
as caches have them, and is bound by memory.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence

import numpy as np

from measure import Row, row
from products import peak, timed
from sardonyx._src.compile.attention.step import attention
from sardonyx._src.compile.llvm.jit import host, load
from sardonyx._src.compile.loops.runner import number
from sardonyx._src.compile.step import Step
from sardonyx._src.compile.tensor import Storage, Tensor, row_major
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.tensors import Array

SIZES = [(12, 128, 128, 64), (12, 512, 512, 64), (8, 256, 256, 128), (12, 197, 197, 64), (12, 1, 1024, 64)]
RUNS = 15
LINE = 64  # bytes of a cache line


def aligned(shape: tuple[int, ...]) -> Array:
    """Random numbers that begin at a cache line."""
    count = int(np.prod(shape))
    room = np.empty(count * 4 + LINE, np.uint8)
    start = -room.ctypes.data % LINE
    found = room[start : start + count * 4].view(np.float32).reshape(shape)
    found[...] = np.random.default_rng(1).normal(size=shape)
    return found


def runner(steps: Sequence[Step], arrays: dict[Storage, Array]) -> Callable[[], object]:
    """All units of some steps, one step after the other."""
    calls = [call(step, arrays) for step in steps]
    return lambda: [one() for one in calls]


def call(step: Step, arrays: dict[Storage, Array]) -> Callable[[], object]:
    kernel = load(step.kernel.source("attention", host()), ["attention"])
    run = kernel.function("attention", ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
    for one in (*step.reads, *step.writes):
        if one.storage not in arrays:
            arrays[one.storage] = aligned((number(one.storage.size, {}) // 4,))
    words = [
        arrays[arg.storage].ctypes.data if isinstance(arg, Tensor) else number(arg, {}) for arg in step.args
    ]
    given, scratch = np.array(words, np.int64), aligned((number(step.scratch, {}) // 4,))
    units = number(step.units, {})
    return lambda: run(given.ctypes.data, 0, units, scratch.ctypes.data)


def compared(heads: int, queries: int, keys: int, depth: int, limit: float) -> list[Row]:
    """Rows of both, in turn; the first turn warms up and does not count."""
    order = (0, 1, 2, 3) if queries == 1 else (0, 2, 1, 3)
    arrays = [
        aligned((1, heads, length, depth) if queries == 1 else (1, length, heads, depth))
        for length in (queries, keys, keys, queries)
    ]
    storages = [Storage("arena", array.nbytes, "") for array in arrays]
    tensors = [
        Tensor(DataType.FLOAT, a.shape, row_major(a.shape), s).permuted(order)
        for a, s in zip(arrays, storages, strict=True)
    ]
    scale = depth**-0.5
    q, k, v, y = (array.transpose(order) for array in arrays)
    ours = runner(attention(*tensors, scale=scale), dict(zip(storages, arrays, strict=True)))
    tools: dict[str, Callable[[], object]] = {"sardonyx": ours, "numpy": lambda: by_numpy(q, k, v, scale)}
    samples: dict[str, list[dict[str, float]]] = {tool: [] for tool in tools}
    for turn in range(RUNS + 1):
        for tool, run in tools.items():
            seconds = timed(run)
            if turn:
                samples[tool].append({"seconds": seconds})
    np.testing.assert_allclose(y, by_numpy(q, k, v, scale), 1e-3, 1e-5)
    best = min(s["seconds"] for s in samples["sardonyx"])
    share = 4 * heads * queries * keys * depth / best / 1e9 / limit
    what = f"attention {heads} x {queries} x {keys} x {depth}, at best {share:.0%} of {limit:.0f} GFLOP/s"
    return [row(what, tool, found) for tool, found in samples.items()]


def by_numpy(q: Array, k: Array, v: Array, scale: float) -> Array:
    scores = q @ k.swapaxes(2, 3) * np.float32(scale)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    found: Array = weights / weights.sum(axis=-1, keepdims=True) @ v
    return found


def rows() -> list[Row]:
    measured = peak()
    return [one for size in SIZES for one in compared(*size, measured())]


if __name__ == "__main__":
    assert os.environ.get("OPENBLAS_NUM_THREADS") == "1", (
        "set OPENBLAS_NUM_THREADS=1: one core is asked about"
    )
    rows()
