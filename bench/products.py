"""How close do the convolutions of ResNet-50 come to the peak of one core at batch 1, compared with NumPy's BLAS?

The peak is measured with each layer: independent multiply-adds on registers.  NumPy multiplies matrices of the same
sizes, without bias, ReLU and im2col; weights are packed in advance.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from measure import Row, row
from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue
from sardonyx._src.compile.codegen.blocks import BlockBuilder
from sardonyx._src.compile.codegen.expressions import Local, Number, Select
from sardonyx._src.compile.kernels.conv.convolution import convolution_step
from sardonyx._src.compile.kernels.conv.packed_weights import pack_conv_weights
from sardonyx._src.compile.kernels.epilogue import RESULT, Epilogue
from sardonyx._src.compile.llvm.jit import host_target, load
from sardonyx._src.compile.program import Buffer, Step, TensorView, Window, row_major_strides
from sardonyx._src.compile.program.operands.lazy_constants import LazyConstant
from sardonyx._src.compile.program.steps.cached_count import CachedCount
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array
from sardonyx._src.runtime.limits.cache_shares import count_in_cache

MAX_CHAINS = 20  # independent dependency chains of multiply-adds
SPARE_REGISTERS = 4  # for other operands than the sums of the chains
STEPS = 50_000
RUNS = 15
RELU = Epilogue(Select("lt", Local("x"), Number(0.0), Number(0.0), RESULT))
POINTER, COUNT = ctypes.c_void_p, ctypes.c_int64
Layer = tuple[int, int, int, int, int]  # image size, input channels, output channels, kernel size, stride
KERNELS: dict[str, Callable[..., None]] = {}  # by their texts


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
    """Measures the peak GFLOP/s of one core: multiply-adds on registers."""
    target = host_target()
    vector_type = LLVMType("float", target.lanes)
    emitter = BlockBuilder(target.has_fma)
    chains = min(MAX_CHAINS, target.registers - SPARE_REGISTERS)
    slots = [emitter.new_slot("chain", vector_type) for _ in range(chains)]
    for slot in slots:
        emitter.store(slot, emitter.constant(1.0, vector_type))
    with emitter.loop(emitter.constant(0, I64), LLVMValue(emitter, I64, "%n")):
        for slot in slots:
            accumulator = emitter.load(slot)
            emitter.store(slot, emitter.fma(accumulator, accumulator, accumulator))
    total = emitter.load(slots[0])
    for slot in slots[1:]:
        total = total + emitter.load(slot)
    head = "define void @peak(ptr %p, i64 %n) {"
    text = "\n".join((*emitter.declarations, head, "entry:", *emitter.allocas, *emitter.lines))
    call = load(text + f"\n store {total}, ptr %p, align 4\n ret void\n}}", ["peak"]).function(
        "peak", POINTER, COUNT
    )
    scratch = np.zeros(64, np.float32)

    def measure() -> float:
        seconds = min(time_call(lambda: call(scratch.ctypes.data, STEPS)) for _ in range(20))
        return STEPS * chains * target.lanes * 2 / seconds / 1e9

    return measure


def time_call(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def prepare_steps(steps: Sequence[Step], memory: dict[Buffer, Array] | None = None) -> Callable[[], None]:
    """A call of all units of some steps, in order; memory: for their buffers, which is extended by those it lacks."""
    held = {} if memory is None else memory
    calls = [bind_step(step, held) for step in steps]

    def run(held: dict[Buffer, Array] = held) -> None:
        for call in calls:
            call()

    return run


def bind_step(step: Step, memory: dict[Buffer, Array]) -> Callable[[], None]:
    slots = np.zeros(len(step.args), np.int64)
    for i, arg in enumerate(step.args):
        if isinstance(arg, TensorView):
            if arg.buffer not in memory:
                memory[arg.buffer] = allocate_filled(arg.buffer)
            slots[i] = memory[arg.buffer].ctypes.data
        elif isinstance(arg, CachedCount):
            slots[i] = count_in_cache(arg, 1)
        else:
            assert isinstance(arg, int)
            slots[i] = arg
    text = step.kernel.source("kernel", host_target())
    if text not in KERNELS:
        KERNELS[text] = load(text, ["kernel"]).function("kernel", POINTER, COUNT, COUNT, POINTER)
    function, scratch = KERNELS[text], aligned_bytes(step.scratch)
    return lambda: function(slots.ctypes.data, 0, step.units, scratch.ctypes.data)


def allocate_filled(buffer: Buffer) -> Array:
    """Memory for a buffer: its data, or arbitrary numbers."""
    data = buffer.data.materialize() if isinstance(buffer.data, LazyConstant) else buffer.data
    memory = aligned_bytes(buffer.size).view(np.float32)
    memory[:] = 0.5 if data is None else data.reshape(-1)
    return memory


def aligned_bytes(size: object) -> Array:
    """Memory aligned to a cache line."""
    assert isinstance(size, int)
    memory = np.zeros(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size]


def tensor(*shape: int, dtype: DataType = DataType.FLOAT) -> TensorView:
    size = int(np.prod(shape)) * dtype.numpy.itemsize
    return TensorView(dtype, shape, row_major_strides(shape), Buffer("arena", size, ""))


def layer_step(layer: Layer) -> Step:
    """A layer with bias and ReLU; the first one reads a channels-first image."""
    size, channels, columns, kernel, stride = layer
    draw = np.random.default_rng(1)
    weights = draw.normal(size=(columns, channels, kernel, kernel)).astype(np.float32)
    window = Window((kernel, kernel), (stride, stride), begin_pads=(kernel // 2, kernel // 2))
    packed = pack_conv_weights(weights, np.zeros(columns, np.float32), window, host_target())
    x = (
        tensor(1, channels, size, size).permute((0, 2, 3, 1))
        if channels < 4
        else tensor(1, size, size, channels)
    )
    return convolution_step(x, packed, tensor(1, size // stride, size // stride, columns), RELU)


def rows() -> list[Row]:
    limit = peak()
    table_rows, total, ideal = [], 0.0, 0.0
    for layer, count in Counter(layers()).items():
        pair, best, bound = compare(layer, count, limit)
        table_rows += pair
        total, ideal = total + count * best, ideal + count * bound
    print(
        f"all convolutions of ResNet-50: {total * 1e3:.2f} ms, at the peak {ideal * 1e3:.2f} ms: {total / ideal:.3f}"
    )
    return table_rows


def compare(layer: Layer, count: int, limit: Callable[[], float]) -> tuple[list[Row], float, float]:
    """Rows of both tools, measured alternately after a warm-up; the least seconds, and the seconds at the peak."""
    step = layer_step(layer)
    size, channels, columns, kernel, stride = layer
    a = np.ones(((size // stride) ** 2, channels * kernel**2), np.float32)
    b = np.ones((a.shape[1], columns), np.float32)
    tools: dict[str, Callable[[], object]] = {"sardonyx": prepare_steps([step]), "numpy": lambda: a @ b}
    samples: dict[str, list[dict[str, float]]] = {tool: [] for tool in tools}
    before = limit()
    for turn in range(RUNS + 1):
        for tool, run in tools.items():
            run()  # evict the other tool's data from the caches
            seconds = time_call(run)
            if turn:
                samples[tool].append({"seconds": seconds, "bytes": 0, "written": 0})
    top = max(before, limit())
    assert isinstance(step.flops, int)
    best, bound = min(s["seconds"] for s in samples["sardonyx"]), step.flops / top / 1e9
    name = f"{count} x {kernel}x{kernel}/{stride}, {size}x{size}x{channels} to {columns}"
    what = f"convolution {name}: at best {best * 1e3:.3f} ms, {bound / best:.0%} of {top:.0f} GFLOP/s"
    return [row(what, tool, timings) for tool, timings in samples.items()], best, bound


if __name__ == "__main__":
    assert os.environ.get("OPENBLAS_NUM_THREADS") == "1", "set OPENBLAS_NUM_THREADS=1: one core is measured"
    rows()
