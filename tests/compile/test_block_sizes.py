"""Results do not depend on block sizes: a sum over terms is one sequence for each element, whatever the blocks are.

Only `k_block` and `max_block_terms` decide the order of a sum, and are equal on all machines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest

from compile.test_matmul_kernel import Memory, draw
from sardonyx._src.compile.kernels.channels_last.lrn import LrnParameters, lrn_step
from sardonyx._src.compile.kernels.conv.convolution import convolution_step
from sardonyx._src.compile.kernels.conv.packed_weights import pack_conv_weights
from sardonyx._src.compile.kernels.conv.weight_gradient import weight_gradient_steps
from sardonyx._src.compile.kernels.depthwise.depthwise import depthwise_step
from sardonyx._src.compile.kernels.gemm.floats import matmul
from sardonyx._src.compile.kernels.gemm.packing.panels import pack_constant, pack_tensor
from sardonyx._src.compile.kernels.gemm.unpacked.few_rows import few_rows_step, reads_in_place
from sardonyx._src.compile.kernels.tuning import (
    ChannelsLastTuning,
    ConvTuning,
    GemmTuning,
    WeightGradientTuning,
)
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.program import Kernel, Step, Window
from sardonyx._src.compile.program.operands.tensor import transpose_matrix
from sardonyx._src.ir import Array

BLOCK_SIZES = [
    (GemmTuning, "max_rows", 96),
    (GemmTuning, "max_rows", 576),
    (GemmTuning, "short_k_block", 24),
    (GemmTuning, "short_k_block", 512),
    (GemmTuning, "unit_rows", 12),
    (GemmTuning, "unit_rows", 200),
    (GemmTuning, "large_bytes", 1 << 22),  # without prefetches, and without short parts of blocks of k
    (GemmTuning, "sparse_prefetch_bytes", 64),
    (ConvTuning, "unit_rows", 12),
    (ConvTuning, "unit_rows", 1000),
]


def product(rows: int) -> Array:
    """A product of sums of several blocks of k, of which the last one is short, by a large matrix."""
    memory, y = Memory(), np.zeros((rows, 130), np.float32)
    panels = pack_constant(draw(1100, 130, seed=2), host_target())
    run(memory, matmul.matmul_steps(memory.tensor(draw(rows, 1100)), panels, memory.tensor(y)))
    return y


def convolution() -> Array:
    """Sums of several blocks of taps and channels."""
    memory, y = Memory(), np.zeros((1, 9, 11, 40), np.float32)
    window = Window((3, 3), begin_pads=(1, 1), end_pads=(1, 1))
    weights = pack_conv_weights(draw(40, 150, 3, 3, seed=2) / 30, draw(40, seed=3), window, host_target())
    run(memory, [convolution_step(memory.tensor(draw(1, 9, 11, 150)), weights, memory.tensor(y))])
    return y


def computed_product() -> Array:
    """A product of few rows by a matrix that a run computes: packed, or read in place."""
    memory, y, target = Memory(), np.zeros((9, 64), np.float32), host_target()
    a, b = memory.tensor(draw(9, 1100)), memory.tensor(draw(1100, 64, seed=2))
    if reads_in_place(a, b, target):
        run(memory, [few_rows_step(a, b, memory.tensor(y), target)])
    else:
        panels, packing = pack_tensor(b, target)
        run(memory, [*packing, *matmul.matmul_steps(a, panels, memory.tensor(y))])
    return y


def depthwise() -> Array:
    """Windows of 7 x 7, some of which reach beyond the image."""
    memory, y = Memory(), np.zeros((1, 9, 19, 72), np.float32)
    window = Window((7, 7), begin_pads=(3, 3), end_pads=(3, 3))
    x, weights = memory.tensor(draw(1, 9, 19, 72)), memory.tensor(draw(49, 72, seed=2))
    run(memory, [depthwise_step(x, weights, memory.tensor(y), None, window)])
    return y


def normalization() -> Array:
    memory, y = Memory(), np.zeros((1, 5, 7, 40), np.float32)
    run(memory, [lrn_step(memory.tensor(draw(1, 5, 7, 40)), memory.tensor(y), LrnParameters(5))])
    return y


def weight_gradient() -> Array:
    memory, dw, window = Memory(), np.zeros((40, 30, 3, 3), np.float32), Window((3, 3), begin_pads=(1, 1))
    x, dy = memory.tensor(draw(1, 13, 11, 30)), memory.tensor(draw(1, 13, 11, 40, seed=2))
    run(memory, weight_gradient_steps(x, dy, memory.tensor(dw), window, host_target()))
    return dw


def run(memory: Memory, steps: list[Step]) -> None:
    """Runs steps with kernels that are not shared with steps of other block sizes."""
    unshared = [replace(step, kernel=unshare(step.kernel)) for step in steps]
    memory.run(unshared, host_target())


def unshare(kernel: Kernel) -> Kernel:
    text = kernel.source("kernel", host_target())
    return Kernel(f"{kernel.key}:{hash(text)}", lambda name, _: kernel.source(name, host_target()))


EXAMPLES: dict[str, Callable[[], Array]] = {
    "few rows": lambda: product(7),
    "rows": lambda: product(150),
    "convolution": convolution,
}


OTHER_SIZES = [
    (computed_product, GemmTuning, "min_columns_in_place", 65),  # packed
    (depthwise, ChannelsLastTuning, "max_unrolled_taps", 5),
    (depthwise, ChannelsLastTuning, "cache_budget_bytes", 1),
    (normalization, ChannelsLastTuning, "lrn_unit_pixels", 3),
    (weight_gradient, WeightGradientTuning, "min_unit_taps", 1),
    (weight_gradient, WeightGradientTuning, "min_unit_taps", 30),
]


@pytest.fixture(scope="module", params=EXAMPLES)
def example(request: pytest.FixtureRequest) -> tuple[Callable[[], Array], Array]:
    """A function that computes an example, and its result with the sizes of the table."""
    compute = EXAMPLES[request.param]
    return compute, compute()


@pytest.mark.parametrize(
    ("family", "field", "value"), BLOCK_SIZES, ids=[f"{f}-{value}" for _, f, value in BLOCK_SIZES]
)
def test_results_do_not_depend_on_block_sizes(
    family: type, field: str, value: int, example: tuple[Callable[[], Array], Array]
) -> None:
    compute, expected = example
    with patch.object(family, field, value):
        np.testing.assert_array_equal(compute(), expected)


@pytest.mark.parametrize(
    ("compute", "family", "field", "value"), OTHER_SIZES, ids=[f"{f}-{value}" for *_, f, value in OTHER_SIZES]
)
def test_other_results_do_not_depend_on_other_sizes(
    compute: Callable[[], Array], family: type, field: str, value: int
) -> None:
    expected = compute()
    with patch.object(family, field, value):
        np.testing.assert_array_equal(compute(), expected)


def test_a_copy_of_the_left_operand_changes_no_bit() -> None:
    """Whether columns of A are copied depends on the target."""
    a, weights = draw(1100, 37), draw(1100, 40, seed=2)
    results = []
    for dense in (np.ascontiguousarray(a.T), a):
        memory, y = Memory(), np.zeros((37, 40), np.float32)
        left = memory.tensor(dense) if dense is not a else transpose_matrix(memory.tensor(a))
        panels = pack_constant(weights, host_target())
        run(memory, matmul.matmul_steps(left, panels, memory.tensor(y)))
        results.append(y)
    np.testing.assert_array_equal(results[0], results[1])


def test_blocks_of_k_decide_the_order_of_a_sum() -> None:
    """Otherwise the examples would not show that other sizes do not."""
    expected = product(7)
    with patch.object(GemmTuning, "k_block", 100):
        assert not np.array_equal(product(7), expected)
