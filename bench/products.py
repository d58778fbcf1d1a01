"""How near the processor's peak do products come, beside NumPy's BLAS on one core?

The peak is measured: independent multiply-adds on registers.  Sizes are those of convolutions of ResNet-50 and of square
matrices; weights are packed beforehand.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable

import numpy as np

from measure import Row, row
from sardonyx.compile.blocks import I64, Blocks
from sardonyx.compile.llvm.jit import host, load
from sardonyx.compile.products.kernel import Epilogue, product, tile_for
from sardonyx.compile.products.packing import packed, padded, row_addresses
from sardonyx.compile.text import Kind, Value

SIZES = [
    (3136, 64, 64),
    (3136, 256, 64),
    (784, 512, 128),
    (196, 1024, 256),
    (49, 2048, 512),
    (1024, 1024, 1024),
]
CHAINS = 20  # of multiply-adds that do not wait for one another
STEPS = 100_000
RUNS = 15
POINTER, COUNT = ctypes.c_void_p, ctypes.c_int64


def peak() -> float:
    """GFLOP/s of one core that only multiplies and adds."""
    target = host()
    kind = Kind("float", target.lanes)
    code = Blocks(target.fused)
    slots = [code.new_slot("chain", kind) for _ in range(CHAINS)]
    for slot in slots:
        code.write(slot, code.constant(1.0, kind))

    def step(_: Value) -> None:
        for slot in slots:
            found = code.read(slot)
            code.write(slot, code.fma(found, found, found))

    code.counted(code.constant(0, I64), Value(code, I64, "%n"), 1, step)
    total = code.read(slots[0])
    for slot in slots[1:]:
        total = total + code.read(slot)
    text = "\n".join(
        (*code.declarations, "define void @peak(ptr %p, i64 %n) {", "entry:", *code.slots, *code.lines)
    )
    call = load(text + f"\n store {total}, ptr %p, align 4\n ret void\n}}", ["peak"]).function(
        "peak", POINTER, COUNT
    )
    scratch = np.zeros(64, np.float32)
    seconds = min(timed(lambda: call(scratch.ctypes.data, STEPS)) for _ in range(50))
    return STEPS * CHAINS * target.lanes * 2 / seconds / 1e9


def timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def rows() -> list[Row]:
    limit = peak()
    return [one for size in SIZES for one in compared(*size, limit)]


def compared(m: int, n: int, k: int, limit: float) -> list[Row]:
    """Rows of both, in turn; the first turn warms up and does not count."""
    target = host()
    tile = tile_for(target.lanes, target.registers)
    kernel = load(product("product", tile, Epilogue(bias=True), fused=target.fused), ["product"])
    call = kernel.function("product", *[POINTER] * 3, *[COUNT] * 5, *[POINTER] * 2)
    draw = np.random.default_rng(1)
    a, b = draw.random((m, k), np.float32), draw.random((k, n), np.float32)
    c, bias = np.empty((m, n), np.float32), padded(np.zeros(n, np.float32), tile)
    where, panels = row_addresses(a.ctypes.data, m, k * 4, tile), packed(b[None], tile)
    arguments = (where.ctypes.data, panels.ctypes.data, c.ctypes.data, n, m, n, 1, k, bias.ctypes.data, 0)
    tools: dict[str, Callable[[], object]] = {"sardonyx": lambda: call(*arguments), "numpy": lambda: a @ b}
    samples: dict[str, list[dict[str, float]]] = {tool: [] for tool in tools}
    for turn in range(RUNS + 1):
        for tool, run in tools.items():
            seconds = timed(run)
            if turn:
                samples[tool].append({"seconds": seconds, "bytes": 0, "written": 0})
    np.testing.assert_allclose(c, a @ b, 1e-3)
    best = min(s["seconds"] for s in samples["sardonyx"])
    share = 2 * m * n * k / best / 1e9 / limit
    what = f"product {m} x {n} x {k}, at best {share:.0%} of the peak of {limit:.0f} GFLOP/s"
    return [row(what, tool, found) for tool, found in samples.items()]


if __name__ == "__main__":
    assert os.environ.get("OPENBLAS_NUM_THREADS") == "1", (
        "set OPENBLAS_NUM_THREADS=1: one core is asked about"
    )
    rows()
