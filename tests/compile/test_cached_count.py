"""Counts that depend on caches: their number, and that no bit of a result depends on it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from compile import guarded
from compile.test_matmul_kernel import Memory, draw
from sardonyx._src.compile.kernels.conv.packed_weights import pack_conv_weights
from sardonyx._src.compile.kernels.depthwise.pointwise_depthwise import pointwise_depthwise_step
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.floats.matmul import matmul_steps
from sardonyx._src.compile.kernels.gemm.packing.panels import pack_constant
from sardonyx._src.compile.kernels.tuning import GemmTuning, PointwiseDepthwiseTuning
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.program import Step, Window
from sardonyx._src.compile.program.steps.cached_count import CachedCount
from sardonyx._src.ir import Array

SIZES = (1 << 10, 20_000, 600_000, 900_000, 1 << 30)  # of a cache


@pytest.mark.parametrize(
    ("size", "number"),
    [
        (8192, 5),  # 7168 bytes, of which 2048 are for others
        (1 << 20, 50),
        (6000, 3),  # 5250 - 2048 = 3 * 1024 + 130
        (5800, 1),  # 5075 - 2048 = 2 * 1024 + 979: fewer than the least number
        (0, 1),
    ],
)
def test_blocks_fill_seven_eighths_of_a_cache(size: int, number: int) -> None:
    count = CachedCount("own", 1024, 2048, least=3, most=50, otherwise=1)
    assert count.in_bytes(size) == number


def test_rows_of_a_long_product_fill_a_cache() -> None:
    """Rows of 3072 floats beside a block of 512 rows of a panel."""
    panels = pack_constant(draw(3072, 768), host_target())
    memory = Memory()
    (step,) = matmul_steps(memory.tensor(draw(300, 3072)), panels, memory.tensor(draw(300, 768)))
    (rows,) = counts_of(step)
    width = panels.tile.width
    cache = (128 * 3072 * 4 + 512 * width * 4) * 8 // 7 + 8
    assert (rows.cache, rows.in_bytes(cache)) == ("last", 128)
    assert rows.in_bytes(1 << 30) == GemmTuning.max_rows
    assert rows.in_bytes(1 << 18) == GemmTuning.max_rows, "so few rows are not worth it to read B again"


def test_few_rows_and_small_matrices_depend_on_no_cache() -> None:
    memory = Memory()
    for rows, terms, columns in ((5, 3072, 768), (300, 128, 768)):  # for the widest panels, too
        panels = pack_constant(draw(terms, columns), host_target())
        a, y = memory.tensor(draw(rows, terms)), memory.tensor(draw(rows, columns))
        assert [counts_of(step) for step in matmul_steps(a, panels, y)] == [[]]


def test_groups_of_rows_fill_the_cache_of_a_core() -> None:
    """Rows of 112 pixels: 43008 bytes in the ring buffer, 7168 of x and 21504 of y, with strides of 2; weights of 9600."""
    (groups,) = counts_of(fused_step(Memory(), 112, 112, 16, 96, stride=2))
    rows = 2 * (43008 + 7168) + 21504
    assert groups == CachedCount(
        "own", rows, 2 * 43008 + 25 * 96 * 4, 1, PointwiseDepthwiseTuning.group_rows, 1
    )
    assert [groups.in_bytes(size << 10) for size in (256, 512, 1024)] == [1, 2, 4]


def counts_of(step: Step) -> list[CachedCount]:
    return [arg for arg in step.args if isinstance(arg, CachedCount)]


def product(memory: Memory) -> tuple[Step, Array]:
    """A product by a matrix that is assumed to be in memory, with sums of several blocks of k."""
    y, panels = np.zeros((157, 130), np.float32), pack_constant(draw(1100, 130, seed=2), host_target())
    (step,) = matmul_steps(memory.tensor(draw(157, 1100)), panels, memory.tensor(y))
    return step, y


def fused_convolution(memory: Memory) -> tuple[Step, Array]:
    y = np.zeros((1, 29, 15, 24), np.float32)
    return fused_step(memory, 29, 15, 10, 24, stride=1, y=y), y


def fused_step(
    memory: Memory,
    height: int,
    width: int,
    inputs: int,
    channels: int,
    *,
    stride: int,
    y: Array | None = None,
) -> Step:
    window = Window((3, 3), (stride, stride), begin_pads=(1, 1), end_pads=(1, 1))
    pointwise = pack_conv_weights(draw(channels, inputs, 1, 1), draw(channels), Window(), host_target())
    result = np.zeros((1, height // stride, width // stride, channels), np.float32) if y is None else y
    return pointwise_depthwise_step(
        memory.tensor(draw(1, height, width, inputs, seed=3)),
        pointwise,
        Epilogue(),
        memory.tensor(draw(9, channels, seed=4)),
        memory.tensor(draw(channels, seed=5)),
        memory.tensor(result),
        window,
        Epilogue(),
    )


@pytest.mark.parametrize("prepare", [product, fused_convolution])
def test_no_bit_depends_on_the_caches(
    prepare: Callable[[Memory], tuple[Step, Array]], monkeypatch: pytest.MonkeyPatch
) -> None:
    results, numbers = [], set()
    for size in SIZES:
        monkeypatch.setattr(guarded, "CACHE_BYTES", size)
        memory = Memory()
        step, y = prepare(memory)
        memory.run([step], host_target())
        results.append(y.tobytes())
        numbers |= {count.in_bytes(size) for count in counts_of(step)}
    assert len(set(results)) == 1 and len(numbers) > 1
