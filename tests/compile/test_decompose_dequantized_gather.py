"""Rows of a block-quantized table are dequantized after they were gathered."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.compile.prepare.decompositions.dequantized_gather import MIN_ELEMENTS
from sardonyx._src.compile.prepare.prepare import prepare_model
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Model

ROWS = 1100


def drawn_table(bits: int, signed: bool, width: int, block: int) -> tuple[Array, Array, Array]:
    """Integers [ROWS, width], and scales and zero points [ROWS, blocks]."""
    rng = np.random.default_rng(bits + width)
    least = -(1 << (bits - 1)) if signed else 0
    blocks = -(-width // block)
    integers = rng.integers(least, least + (1 << bits), (ROWS, width))
    zeros = rng.integers(least, least + (1 << bits), (ROWS, blocks))
    return integers, rng.random((ROWS, blocks), np.float32), zeros


def table_model(dtype: DataType, arrays: tuple[Array, Array, Array], block: int, *, zeros: bool) -> Model:
    b = sx.Builder(opset=21)
    i = b.input("i", "int64", ["N", 2])
    integers, scales, zero_points = arrays
    operands = [integers.astype(dtype.numpy), scales, zero_points.astype(dtype.numpy)][: 3 if zeros else 2]
    table = b.DequantizeLinear(*operands, axis=1, block_size=block)
    return b.model(y=b.Gather(table, i))


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize(("width", "block"), [(64, 32), (72, 16)])
@pytest.mark.parametrize("dtype", [DataType.INT4, DataType.UINT4, DataType.INT8, DataType.UINT8])
def test_rows_are_those_of_the_dequantized_table(
    dtype: DataType, width: int, block: int, zeros: bool
) -> None:
    arrays = drawn_table(dtype.bits or 0, dtype.text.startswith("int"), width, block)
    model = table_model(dtype, arrays, block, zeros=zeros)
    spread = np.arange(width) // block
    integers, scales, zero_points = arrays
    distances = integers - (zero_points[:, spread] if zeros else 0)
    expected = distances.astype(np.float32) * scales[:, spread]
    indices = np.array([[0, ROWS - 1], [-1, 7], [5, 5]], np.int64)
    session = sx.Session(model)
    np.testing.assert_array_equal(session.run({"i": indices})["y"], expected[indices])
    assert session.stats.fallback_nodes == 0


@pytest.mark.parametrize(("width", "is_gathered_first"), [(64, True), (16, False)])
def test_large_tables_keep_their_bytes(width: int, is_gathered_first: bool) -> None:
    assert (ROWS * width >= MIN_ELEMENTS) == is_gathered_first
    model = table_model(DataType.INT4, drawn_table(4, True, width, 16), 16, zeros=False)
    kinds = [node.op_type for node in prepare_model(model, lambda *_: True).model.graph.nodes]
    assert (kinds.index("Gather") < kinds.index("DequantizeLinear")) == is_gathered_first
