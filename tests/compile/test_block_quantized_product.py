"""Products with weights of 2, 4 and 8 bits: kernels on any target, against NumPy in double precision; models, against onnxruntime."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import sardonyx as sx
from compile.test_matmul_kernel import Memory, make_target
from models import parse_model
from ops.microsoft.judge import VendorCase, assert_results, feeds_of, run_onnxruntime, vendor_model
from sardonyx._src.compile.codegen.expressions import Apply, Local
from sardonyx._src.compile.kernels.block_quantized.blocks import (
    BlockQuantizedMatrix,
    pack_blocks,
)
from sardonyx._src.compile.kernels.block_quantized.matmul import block_quantized_matmul_step
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.tuning import BlockQuantizedTuning
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Array, Model, Tensor
from sardonyx._src.ir.dims import symbol

RNG = np.random.default_rng(17)
ROWS = [0, 1, 2, 5, 6, 7, 49, 300]


def draw(*shape: int) -> Array:
    return RNG.normal(size=shape).astype(np.float32)


def draw_matrix(bits: int, size: int, k: int, columns: int, *, equal_zeros: bool) -> BlockQuantizedMatrix:
    blocks, top = -(-k // size), 1 << bits
    codes = RNG.integers(0, top, (k, columns)).astype(np.uint8)
    zeros = RNG.integers(0, top, (blocks, columns)).astype(np.uint8)
    zeros = np.full_like(zeros, top // 2) if equal_zeros else zeros
    return BlockQuantizedMatrix(codes, 0, draw(blocks, columns), zeros, bits, size)


def codes_of(matrix: BlockQuantizedMatrix) -> Array:
    assert isinstance(matrix.codes, np.ndarray), "the matrix is not packed"
    return matrix.codes


def dequantized(matrix: BlockQuantizedMatrix) -> Array:
    block = np.arange(len(codes_of(matrix))) // matrix.size
    codes = (codes_of(matrix).astype(np.int64) + matrix.code_offset) % (1 << matrix.bits)
    return (codes - matrix.zeros[block].astype(np.int64)) * matrix.scales[block].astype(np.float64)


def assert_product(matrix: BlockQuantizedMatrix, rows: int, lanes: int | None = None) -> None:
    """Asserts a product of rows, whose sums have terms of about the size of the range of codes."""
    a = draw(rows, len(codes_of(matrix)))
    y = np.full((rows, matrix.codes.shape[1]), -7, np.float32)
    memory, target = Memory(), make_target(lanes)
    packed = pack_blocks(matrix, target)
    memory.run([block_quantized_matmul_step(memory.tensor(a), packed, memory.tensor(y))], target)
    np.testing.assert_allclose(y, a.astype(np.float64) @ dequantized(matrix), 1e-5, 1e-4 * (1 << matrix.bits))


@pytest.mark.parametrize("rows", ROWS)
def test_any_number_of_rows(rows: int) -> None:
    assert_product(draw_matrix(4, 32, 1100, 65, equal_zeros=True), rows)


@pytest.mark.parametrize("rows", ROWS)
def test_rows_may_be_symbolic_and_epilogues_are_fused(rows: int) -> None:
    matrix, m = draw_matrix(4, 16, 96, 70, equal_zeros=False), symbol("m")
    a, y, column, residual = draw(rows, 96), np.zeros((rows, 70), np.float32), draw(70), draw(rows, 70)
    memory = Memory()
    tensors = [memory.tensor(array) for array in (a, y, residual)]
    a_tensor, y_tensor, residual_tensor = (
        type(t)(t.dtype, (m, *t.shape[1:]), t.strides, t.buffer) for t in tensors
    )
    total = Apply("add", (Apply("add", (Local("x"), Local("o0"))), Local("o1")))
    step = block_quantized_matmul_step(
        a_tensor,
        pack_blocks(matrix, host_target()),
        y_tensor,
        Epilogue(total, ("column", "matrix")),
        (memory.tensor(column), residual_tensor),
    )
    memory.run([step], host_target(), {"m": rows})
    expected = a.astype(np.float64) @ dequantized(matrix) + column + residual
    np.testing.assert_allclose(y, expected, 1e-5, 1e-3)


def test_nan_stays_in_its_row_and_weights_of_zero_count() -> None:
    matrix = draw_matrix(4, 32, 64, 64, equal_zeros=True)
    codes_of(matrix)[40] = matrix.zeros[0, 0]
    a = draw(3, 64)
    a[1, 5], a[2, 40] = np.nan, np.inf
    memory, y = Memory(), np.zeros((3, 64), np.float32)
    packed = pack_blocks(matrix, host_target())
    memory.run([block_quantized_matmul_step(memory.tensor(a), packed, memory.tensor(y))], host_target())
    assert np.isfinite(y[0]).all() and np.isnan(y[1:]).all()


# --- models ---------------------------------------------------------------------------------------


@pytest.fixture
def small_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights of any size stay packed."""
    monkeypatch.setattr(BlockQuantizedTuning, "min_weights", 0)


def region_kinds(model: Model) -> list[str]:
    steps = compile_model(model, host_target(), verify=True).program.steps
    return [step.kernel.key.split("_")[1] for step in steps if step.kernel.key.startswith("matmul")]


def product_case(bits: int, inner: int, block: int, *, zeros: bool, rows: int) -> VendorCase:
    columns, blocks = 21, -(-inner // block)
    codes = RNG.integers(0, 256, (columns, blocks, block * bits // 8)).astype(np.uint8)
    inputs = [draw(2, rows, inner), codes, draw(columns, blocks)]
    if zeros:
        inputs.append(RNG.integers(0, 256, (columns, -(-blocks * bits // 8))).astype(np.uint8))
    attributes = {"K": inner, "N": columns, "bits": bits, "block_size": block}
    label = f"{bits} bits, {inner} by {block}, {rows} rows{' zeros' * zeros}"
    return VendorCase("MatMulNBits", inputs, attributes, rtol=1e-3, atol=1e-2, label=label)


CASES = [
    product_case(bits, inner, block, zeros=zeros, rows=rows)
    for bits in (2, 4, 8)
    for inner, block, zeros, rows in (
        (64, 16, True, 1),
        (96, 32, False, 9),
        (300, 128, True, 9),
        (512, 256, False, 1),
    )
]


def with_constants(model: Model, *constants: Array) -> Model:
    """A model with all inputs but the first as constants."""
    for value, array in zip(list(model.graph.inputs)[1:], constants, strict=True):
        model.graph.remove_input(value)
        value.initializer = Tensor.of(array)
        model.graph.add_initializer(value)
    return model


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.usefixtures("small_weights")
def test_constant_weights_of_few_bits_agree_with_onnxruntime(case: VendorCase) -> None:
    x, *constants = feeds_of(case).values()
    model = with_constants(vendor_model(case), *constants)
    expected = run_onnxruntime(with_constants(vendor_model(case), *constants), {"x0": x})
    assert region_kinds(model) == ["blocks"]
    session = sx.Session(model, engine="native")
    assert session.stats.fallback_nodes == 0
    assert_results(case, list(session.run({"x0": x}).values()), expected, "native engine")


PRODUCT = "d = DequantizeLinear <axis = {axis}, block_size = {size}> (w, s, z)"
FORMS = {
    "int4, blocks": ("int4", (128, 21), (8, 21), PRODUCT.format(axis=0, size=16) + " y = MatMul(x, d)"),
    "uint4, blocks": ("uint4", (128, 21), (2, 21), PRODUCT.format(axis=-2, size=64) + " y = MatMul(x, d)"),
    "int8, blocks": ("int8", (128, 21), (4, 21), PRODUCT.format(axis=0, size=32) + " y = MatMul(x, d)"),
    "uint2, blocks": ("uint2", (128, 21), (8, 21), PRODUCT.format(axis=0, size=16) + " y = MatMul(x, d)"),
    "int4, columns": ("int4", (128, 21), (21,), "d = DequantizeLinear <axis = 1> (w, s, z) y = MatMul(x, d)"),
    "int2, one scale": ("int2", (128, 21), (), "d = DequantizeLinear(w, s, z) y = MatMul(x, d)"),
    "uint8, long blocks": ("uint8", (1024, 5), (1, 5), PRODUCT.format(axis=0, size=1024) + " y = MatMul(x, d)"),
    "int4, Gemm": ("int4", (21, 128), (21, 8), PRODUCT.format(axis=1, size=16) + " y = Gemm <transB = 1> (x, d)"),
    "int8, Gemm": ("int8", (128, 21), (21,), "d = DequantizeLinear <axis = 1> (w, s, z) y = Gemm(x, d)"),
    "int4, transposed": (
        "int4", (21, 128), (21, 8),
        PRODUCT.format(axis=1, size=16) + " t = Transpose <perm = [1, 0]> (d) y = MatMul(x, t)",
    ),
}  # fmt: skip


def form_model(form: str) -> Model:
    """The model of one of the forms, with random constants."""
    dtype, shape, grid, nodes = FORMS[form]
    dims = ",".join(map(str, grid))
    inner = shape[0] if "trans" not in nodes and "Transpose" not in nodes else shape[1]
    inputs = f"float[M,{inner}] x, {dtype}[{shape[0]},{shape[1]}] w, float[{dims}] s, {dtype}[{dims}] z"
    model = parse_model(f"g ({inputs}) => (float[M,N] y) {{ {nodes} }}", opset=25)
    bits = int(dtype[-1])
    low, high = (0, 1 << bits) if dtype.startswith("u") else (-(1 << bits - 1), 1 << bits - 1)
    numpy_type = np.dtype(getattr(ml_dtypes, dtype) if bits < 8 else dtype)
    codes, zeros = (RNG.integers(low, high, size).astype(numpy_type) for size in (shape, grid))
    return with_constants(model, codes, draw(*grid) if grid else np.array(0.3, np.float32), zeros)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.usefixtures("small_weights")
def test_dequantized_constants_of_few_bits_stay_packed(form: str) -> None:
    model = form_model(form)
    x = draw(3, int(str(next(iter(model.graph.inputs)).type).split(",")[1].split("]")[0]))
    (expected,) = Interpreter(model).run({"x": x}).values()
    assert region_kinds(model) == ["blocks"]
    actual = sx.Session(model, engine="native").run({"x": x})["y"]
    assert isinstance(actual, np.ndarray) and isinstance(expected, np.ndarray)
    np.testing.assert_allclose(actual, expected, 1e-4, 1e-2)


def test_small_weights_are_dequantized_once() -> None:
    assert region_kinds(form_model("int4, blocks")) == ["f32"]


@pytest.mark.usefixtures("small_weights")
def test_blocks_that_split_words_are_dequantized_once(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = PRODUCT.format(axis=0, size=4) + " y = MatMul(x, d)"
    monkeypatch.setitem(FORMS, "odd", ("int4", (128, 21), (32, 21), nodes))
    assert region_kinds(form_model("odd")) == ["f32"]
