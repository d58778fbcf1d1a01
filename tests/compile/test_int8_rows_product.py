"""Products of rows rounded to int8 with weights of 2, 4 and 8 bits: against float64 within the bound of the rounding, and onnxruntime."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sardonyx as sx
from compile.test_block_quantized_product import (
    ROWS,
    dequantized,
    draw,
    draw_matrix,
    product_case,
    with_constants,
)
from compile.test_matmul_kernel import Memory, make_target
from ops.microsoft.judge import VendorCase, feeds_of, run_onnxruntime, vendor_model
from sardonyx._src.compile.codegen.expressions import Apply, Local
from sardonyx._src.compile.kernels.block_quantized.blocks import (
    BlockFormat,
    BlockQuantizedMatrix,
    pack_blocks,
)
from sardonyx._src.compile.kernels.block_quantized.int8_rows import (
    quantize_rows_step,
    quantized_row_bytes,
)
from sardonyx._src.compile.kernels.block_quantized.int8_tiles import row_counts
from sardonyx._src.compile.kernels.block_quantized.matmul import block_quantized_matmul_step
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.tile.prefetch import CACHE_LINE_FLOATS
from sardonyx._src.compile.kernels.gemm.tile.register_tile import make_tile
from sardonyx._src.compile.kernels.tuning import BlockQuantizedTuning, tuning_for
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.compile.program import Buffer, Step, TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import Known, symbol


def rounding_bound(a: Array, matrix: BlockQuantizedMatrix) -> Array:
    """The largest difference that rounding blocks of a [M, K] to int8 makes of products with the weights, and of float32 sums."""
    weights = np.abs(dequantized(matrix))
    bound = np.zeros((len(a), weights.shape[1]))
    for start in range(0, a.shape[1], matrix.size):
        peaks = np.abs(a[:, start : start + matrix.size]).max(1, initial=0).astype(np.float64)
        bound += peaks[:, None] / 254 * weights[start : start + matrix.size].sum(0)
    return bound * (1 + 1e-5) + 1e-5 * (np.abs(a).astype(np.float64) @ weights) + 1e-30


def multiply(a: Array, matrix: BlockQuantizedMatrix, lanes: int | None = None) -> Array:
    """The product by the two steps."""
    memory, target = Memory(), make_target(lanes)
    packed = pack_blocks(replace(matrix, allows_int8_rows=True), target)
    assert packed.format.has_int8_rows
    rows = np.full((len(a), quantized_row_bytes(packed.format, packed.k)), 77, np.uint8)
    y = np.full((len(a), matrix.codes.shape[1]), -7, np.float32)
    quantized = memory.tensor(rows)
    steps = [
        quantize_rows_step(memory.tensor(a), quantized, packed.format),
        block_quantized_matmul_step(quantized, packed, memory.tensor(y)),
    ]
    memory.run(steps, target)
    return y


def assert_within_bound(matrix: BlockQuantizedMatrix, a: Array, lanes: int | None = None) -> None:
    difference = np.abs(multiply(a, matrix, lanes) - a.astype(np.float64) @ dequantized(matrix))
    assert (difference <= rounding_bound(a, matrix)).all()


@pytest.mark.parametrize("lanes", [None, 8, 4])
@pytest.mark.parametrize("equal_zeros", [True, False])
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_the_error_is_that_of_rounding(bits: int, equal_zeros: bool, lanes: int | None) -> None:
    for rows in (1, 3, 20):
        matrix = draw_matrix(bits, 32, 150, 70, equal_zeros=equal_zeros)
        assert_within_bound(matrix, draw(rows, 150), lanes)


@pytest.mark.parametrize("size", [16, 64, 256, 512])
@pytest.mark.parametrize("k", [1, 15, 64, 600, 1100])
def test_blocks_may_be_partial(k: int, size: int) -> None:
    for rows in (1, 9):
        assert_within_bound(draw_matrix(4, size, k, 5, equal_zeros=False), draw(rows, k))


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_integers_up_to_127_are_exact(bits: int) -> None:
    """Each block has the 127, so that its scale is 1, and the scales of the weights are powers of two."""
    matrix = draw_matrix(bits, 32, 160, 70, equal_zeros=False)
    matrix.scales[:] = 2.0 ** np.random.default_rng(3).integers(-2, 3, matrix.scales.shape)
    a = np.random.default_rng(4).integers(-127, 128, (20, 160)).astype(np.float32)
    a[:, ::32] = 127
    np.testing.assert_array_equal(multiply(a, matrix), a.astype(np.float64) @ dequantized(matrix))


@pytest.mark.parametrize("rows", ROWS)
def test_a_row_does_not_depend_on_the_number_of_rows(rows: int) -> None:
    matrix, a = draw_matrix(4, 32, 1100, 65, equal_zeros=True), draw(rows, 1100)
    y = multiply(a, matrix)
    for row in range(0, rows, 7):
        np.testing.assert_array_equal(multiply(a[row : row + 1], matrix)[0], y[row])


@pytest.mark.parametrize("lanes", [None, 8, 4])
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_few_rows_have_the_bits_of_rows_alone(bits: int, lanes: int | None) -> None:
    """Tiles of every height, in one and in two passes over the vectors of a panel."""
    matrix, a = draw_matrix(bits, 32, 100, 70, equal_zeros=bits != 2), draw(10, 100)
    alone = np.concatenate([multiply(row[None], matrix, lanes) for row in a])
    for rows in range(2, 11):
        np.testing.assert_array_equal(multiply(a[:rows], matrix, lanes), alone[:rows])


def test_nan_and_infinities_stay_in_their_rows_and_tiny_blocks_are_zero() -> None:
    matrix, a = draw_matrix(4, 32, 64, 64, equal_zeros=True), draw(4, 64)
    a[1, 5], a[2, 40], a[3] = np.nan, np.inf, 1e-40
    y = multiply(a, matrix)
    assert np.isfinite(y[0]).all() and np.isnan(y[1:3]).all() and (y[3] == 0).all()


@pytest.mark.parametrize("rows", [1, 40])
def test_rows_may_be_symbolic_and_epilogues_are_fused(rows: int) -> None:
    matrix = replace(draw_matrix(4, 16, 96, 70, equal_zeros=False), allows_int8_rows=True)
    a, column = draw(rows, 96), draw(70)
    y, m, memory = np.zeros((rows, 70), np.float32), symbol("m"), Memory()
    packed = pack_blocks(matrix, host_target())
    row_bytes = quantized_row_bytes(packed.format, 96)
    tensors = [memory.tensor(x) for x in (a, np.zeros((rows, row_bytes), np.uint8), y)]
    a_tensor, q_tensor, y_tensor = (type(t)(t.dtype, (m, *t.shape[1:]), t.strides, t.buffer) for t in tensors)
    epilogue = Epilogue(Apply("add", (Local("x"), Local("o0"))), ("column",))
    product = block_quantized_matmul_step(q_tensor, packed, y_tensor, epilogue, (memory.tensor(column),))
    memory.run([quantize_rows_step(a_tensor, q_tensor, packed.format), product], host_target(), {"m": rows})
    difference = np.abs(y - (a.astype(np.float64) @ dequantized(matrix) + column))
    assert (difference <= rounding_bound(a, matrix) + 1e-5).all()


def product_step(rows: Known) -> Step:
    packed = pack_blocks(
        replace(draw_matrix(4, 32, 96, 70, equal_zeros=True), allows_int8_rows=True), host_target()
    )
    row_bytes = quantized_row_bytes(packed.format, 96)
    a = tensor_of("a", DataType.UINT8, (rows, row_bytes))
    return block_quantized_matmul_step(a, packed, tensor_of("y", DataType.FLOAT, (rows, 70)))


def tensor_of(name: str, dtype: DataType, shape: tuple[Known, Known]) -> TensorView:
    buffer = Buffer("arena", shape[0] * shape[1] * dtype.numpy.itemsize, name)
    return TensorView(dtype, shape, (shape[1], 1), buffer)


def test_one_kernel_serves_all_numbers_of_rows_without_scratch() -> None:
    steps = [product_step(rows) for rows in (1, 6, 7, 40, symbol("m"))]
    assert len({step.kernel.key for step in steps}) == 1
    assert [step.scratch for step in steps] == [0] * len(steps)


def test_weights_of_one_and_two_rows_are_prefetched_into_l2_and_those_of_more_rows_into_l1() -> None:
    text, target = product_step(1).kernel.source("product", host_target()), host_target()
    tile = make_tile(tuning_for(target).gemm.dynamic_tile_vectors, target)
    rows = row_counts(BlockFormat(4, 32, tile.width, 8, has_int8_rows=True), target)
    lines = max(1, tile.width // CACHE_LINE_FLOATS)
    # By the locality of llvm.prefetch: 3 is the first level of caches, 2 the second one.
    prefetches = {level: text.count(f", i32 0, i32 {level}, i32 1)") for level in (2, 3)}
    assert prefetches == {2: sum(n <= 2 for n in rows) * lines, 3: sum(n > 2 for n in rows) * lines}


# --- models ---------------------------------------------------------------------------------------


def level_case(bits: int, inner: int, block: int, *, zeros: bool, rows: int, level: int) -> VendorCase:
    case = product_case(bits, inner, block, zeros=zeros, rows=rows)
    return replace(
        case, attributes={**case.attributes, "accuracy_level": level}, label=f"{case.label}, level {level}"
    )


CASES = [
    level_case(bits, inner, block, zeros=zeros, rows=rows, level=4)
    for bits in (2, 4, 8)
    for inner, block, zeros, rows in ((64, 16, True, 1), (300, 128, True, 9), (512, 256, False, 1))
]


@pytest.fixture
def small_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights of any size stay packed."""
    monkeypatch.setattr(BlockQuantizedTuning, "min_weights", 0)


def kernels_of(case: VendorCase) -> list[str]:
    _, *constants = feeds_of(case).values()
    model = with_constants(vendor_model(case), *constants)
    return [step.kernel.key for step in compile_model(model, host_target(), verify=True).program.steps]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.usefixtures("small_weights")
def test_level_4_agrees_with_onnxruntime_within_the_rounding(case: VendorCase) -> None:
    """Both round blocks of activations by at most half of a step, from the float32 product of the reference engine."""
    x, *constants = feeds_of(case).values()
    bits = case.attributes["bits"]
    assert any(key.startswith(f"matmul_blocks_{bits}_") and "_int8" in key for key in kernels_of(case))
    model = with_constants(vendor_model(case), *constants)
    (exact,) = Interpreter(model).run({"x0": x}).values()
    session = sx.Session(model, engine="native")
    assert session.stats.fallback_nodes == 0
    (ours,) = session.run({"x0": x}).values()
    (theirs,) = run_onnxruntime(with_constants(vendor_model(case), *constants), {"x0": x})
    largest = np.abs(np.asarray(exact)).max()
    for y in (ours, theirs):
        np.testing.assert_allclose(np.asarray(y), np.asarray(exact), 0, 0.02 * largest)


@pytest.mark.parametrize("level", [0, 1, 2, 3])
@pytest.mark.usefixtures("small_weights")
def test_other_levels_are_computed_in_float32(level: int) -> None:
    keys = kernels_of(level_case(4, 64, 16, zeros=True, rows=1, level=level))
    assert [key for key in keys if key.startswith("matmul_blocks_4_")] and not any("_int8" in k for k in keys)


@pytest.mark.usefixtures("small_weights")
def test_bits_are_equal_on_two_threads() -> None:
    case = level_case(4, 512, 32, zeros=True, rows=90, level=4)
    x, *constants = feeds_of(case).values()
    results = [
        sx.Session(with_constants(vendor_model(case), *constants), engine="native", threads=n).run({"x0": x})
        for n in (1, 2)
    ]
    for single, double in zip(results[0].values(), results[1].values(), strict=True):
        np.testing.assert_array_equal(np.asarray(single), np.asarray(double))
