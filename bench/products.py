"""How near the processor's peak do the convolutions of ResNet-50 come, at batch 1 on one core, beside NumPy's BLAS?

The peak is measured beside each layer: independent multiply-adds on registers.  NumPy multiplies matrices of the same
sizes, without bias, ReLU and the gathering of windows; weights are packed beforehand.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np

from measure import Row, row
from sardonyx._src.compile.blocks import I64, Blocks
from sardonyx._src.compile.llvm.jit import host, load
from sardonyx._src.compile.loops.ir import Local, Number, Select
from sardonyx._src.compile.products.convolution import convolution
from sardonyx._src.compile.products.weights import Window, packed_weights
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.tail import RESULT, Tail
from sardonyx._src.compile.tensor import Storage, Tensor, row_major
from sardonyx._src.compile.text import Kind, Value
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.tensors import Array

CHAINS = 20  # of multiply-adds that do not wait for one another
STEPS = 50_000
RUNS = 15
RELU = Tail(Select("lt", Local("x"), Number(0.0), Number(0.0), RESULT))
POINTER, COUNT = ctypes.c_void_p, ctypes.c_int64
Layer = tuple[int, int, int, int, int]  # size of the image, channels, columns, size of the window, stride
KERNELS: dict[Kernel, Callable[..., None]] = {}


def layers() -> Iterator[Layer]:
    """The convolutions of ResNet-50, in order."""
    yield 224, 3, 64, 7, 2
    channels, size = 64, 56
    for columns, blocks, first in ((256, 3, 1), (512, 4, 2), (1024, 6, 2), (2048, 3, 2)):
        for stride in (first, *[1] * (blocks - 1)):
            inner = columns // 4
            yield size, channels, inner, 1, 1
            yield size, inner, inner, 3, stride
            yield size // stride, inner, columns, 1, 1
            if channels != columns:
                yield size, channels, columns, 1, stride
            channels, size = columns, size // stride


def peak() -> Callable[[], float]:
    """Measures GFLOP/s of one core that only multiplies and adds."""
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
    head = "define void @peak(ptr %p, i64 %n) {"
    text = "\n".join((*code.declarations, head, "entry:", *code.slots, *code.lines))
    call = load(text + f"\n store {total}, ptr %p, align 4\n ret void\n}}", ["peak"]).function(
        "peak", POINTER, COUNT
    )
    scratch = np.zeros(64, np.float32)

    def measured() -> float:
        seconds = min(timed(lambda: call(scratch.ctypes.data, STEPS)) for _ in range(20))
        return STEPS * CHAINS * target.lanes * 2 / seconds / 1e9

    return measured


def timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def prepared(step: Step) -> Callable[[], None]:
    """A call of all units of a step, over memory of its own."""
    words = np.zeros(len(step.args), np.int64)
    memory: dict[Storage, Array] = {}
    for i, arg in enumerate(step.args):
        if isinstance(arg, Tensor):
            if arg.storage not in memory:
                memory[arg.storage] = filled(arg.storage)
            words[i] = memory[arg.storage].ctypes.data
        else:
            assert isinstance(arg, int)
            words[i] = arg
    if step.kernel not in KERNELS:
        library = load(step.kernel.source("kernel", host()), ["kernel"])
        KERNELS[step.kernel] = library.function("kernel", POINTER, COUNT, COUNT, POINTER)
    call, scratch = KERNELS[step.kernel], aligned(step.scratch)
    return lambda held=memory: call(words.ctypes.data, 0, step.units, scratch.ctypes.data)  # type: ignore[misc]


def filled(storage: Storage) -> Array:
    """Memory of a storage: its data, or any numbers."""
    place = aligned(storage.size).view(np.float32)
    place[:] = 0.5 if storage.data is None else storage.data.reshape(-1)
    return place


def aligned(size: object) -> Array:
    """Bytes from the beginning of a cache line."""
    assert isinstance(size, int)
    place = np.zeros(size + 64, np.uint8)
    start = -place.ctypes.data % 64
    return place[start : start + size]


def tensor(*shape: int) -> Tensor:
    size = int(np.prod(shape)) * 4
    return Tensor(DataType.FLOAT, shape, row_major(shape), Storage("arena", size, ""))


def step_of(layer: Layer) -> Step:
    """A layer with its bias and a ReLU; the first one reads channels first, as images come."""
    size, channels, columns, kernel, stride = layer
    draw = np.random.default_rng(1)
    weights = draw.normal(size=(columns, channels, kernel, kernel)).astype(np.float32)
    window = Window((kernel, kernel), (stride, stride), pads=(kernel // 2, kernel // 2))
    packed = packed_weights(weights, np.zeros(columns, np.float32), window, host())
    x = (
        tensor(1, channels, size, size).permuted((0, 2, 3, 1))
        if channels < 4
        else tensor(1, size, size, channels)
    )
    return convolution(x, packed, tensor(1, size // stride, size // stride, columns), RELU)


def rows() -> list[Row]:
    limit = peak()
    found, total, ideal = [], 0.0, 0.0
    for layer, count in Counter(layers()).items():
        pair, best, bound = compared(layer, count, limit)
        found += pair
        total, ideal = total + count * best, ideal + count * bound
    print(
        f"all convolutions of ResNet-50: {total * 1e3:.2f} ms, at the peak {ideal * 1e3:.2f} ms: {total / ideal:.3f}"
    )
    return found


def compared(layer: Layer, count: int, limit: Callable[[], float]) -> tuple[list[Row], float, float]:
    """Rows of both tools, in turn; the first turn warms up and does not count.  Least seconds, and those at the peak."""
    step = step_of(layer)
    size, channels, columns, kernel, stride = layer
    a = np.ones(((size // stride) ** 2, channels * kernel**2), np.float32)
    b = np.ones((a.shape[1], columns), np.float32)
    tools: dict[str, Callable[[], object]] = {"sardonyx": prepared(step), "numpy": lambda: a @ b}
    samples: dict[str, list[dict[str, float]]] = {tool: [] for tool in tools}
    before = limit()
    for turn in range(RUNS + 1):
        for tool, run in tools.items():
            run()  # what the other tool has in the caches goes
            seconds = timed(run)
            if turn:
                samples[tool].append({"seconds": seconds, "bytes": 0, "written": 0})
    top = max(before, limit())
    assert isinstance(step.flops, int)
    best, bound = min(s["seconds"] for s in samples["sardonyx"]), step.flops / top / 1e9
    name = f"{count} x {kernel}x{kernel}/{stride}, {size}x{size}x{channels} to {columns}"
    what = f"convolution {name}: at best {best * 1e3:.3f} ms, {bound / best:.0%} of {top:.0f} GFLOP/s"
    return [row(what, tool, found) for tool, found in samples.items()], best, bound


if __name__ == "__main__":
    assert os.environ.get("OPENBLAS_NUM_THREADS") == "1", (
        "set OPENBLAS_NUM_THREADS=1: one core is asked about"
    )
    rows()
