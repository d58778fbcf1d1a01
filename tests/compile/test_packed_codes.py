"""Weights of MatMulNBits in a compiled program: read from the packed bytes of the model, with the words of unpacked codes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.compile.kernels.block_quantized.blocks import (
    BlockQuantizedMatrix,
    PackedCodes,
    fill_panels,
    pack_blocks,
    unpack_rows,
)
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.compile.prepare.packed_weights import PackedColumns
from sardonyx._src.ir import Array, Model, Tensor
from sardonyx._src.ir.build import GraphBuilder, attribute

RNG = np.random.default_rng(31)
K, COLUMNS = 512, 200


def draw(*shape: int) -> Array:
    return RNG.normal(size=shape).astype(np.float32)


def matrices(bits: int, size: int, *, int8_rows: bool) -> tuple[BlockQuantizedMatrix, BlockQuantizedMatrix]:
    """The same matrix of packed and of unpacked codes."""
    rows = RNG.integers(0, 256, (COLUMNS, K * bits // 8)).astype(np.uint8)
    zeros = RNG.integers(0, 1 << bits, (K // size, COLUMNS)).astype(np.uint8)
    packed = BlockQuantizedMatrix(
        PackedCodes(rows, bits), 0, draw(K // size, COLUMNS), zeros, bits, size, int8_rows
    )
    return packed, replace(packed, codes=unpack_rows(rows, bits).T)


def test_codes_fill_bytes_from_the_low_bits_on() -> None:
    assert unpack_rows(np.array([[0x21, 0x43]], np.uint8), 4).tolist() == [[1, 2, 3, 4]]
    assert unpack_rows(np.array([[0b11100100]], np.uint8), 2).tolist() == [[0, 1, 2, 3]]


@pytest.mark.parametrize("int8_rows", [False, True], ids=["float rows", "int8 rows"])
@pytest.mark.parametrize(("bits", "size"), [(2, 16), (2, 64), (4, 16), (4, 32), (4, 128), (8, 32)])
def test_packed_and_unpacked_codes_have_the_same_panels(bits: int, size: int, int8_rows: bool) -> None:
    packed, unpacked = matrices(bits, size, int8_rows=int8_rows)
    result, expected = (pack_blocks(m, host_target()) for m in (packed, unpacked))
    assert result.format == expected.format
    panels = [
        np.full((result.num_panels, K // size, result.format.block_bytes), 7, np.uint8) for _ in range(2)
    ]
    for rows, matrix in zip(panels, (packed, unpacked), strict=True):
        for first in range(0, result.num_panels, 3):
            fill_panels(rows[first : first + 3], matrix, result.format, first * result.format.width)
    np.testing.assert_array_equal(panels[0], panels[1])


def product(bits: int, size: int, *, zeros: bool, bias: bool, level: int = 0) -> tuple[Model, Array]:
    """A MatMulNBits of constant weights, and the weights as floats, [K, N]."""
    b, blocks = GraphBuilder(opset=21), K // size
    b.imports["com.microsoft"] = 1
    rows = RNG.integers(0, 256, (COLUMNS, blocks, size * bits // 8)).astype(np.uint8)
    scales = np.abs(draw(COLUMNS, blocks)) + 0.1
    points = RNG.integers(0, 256, (COLUMNS, -(-blocks * bits // 8))).astype(np.uint8)
    inputs = [b.input("x", sx.DataType.FLOAT, ["M", K]), b.constant("w", rows), b.constant("s", scales)]
    extra = [
        b.constant("z", points) if zeros else None,
        None,
        b.constant("c", draw(COLUMNS)) if bias else None,
    ]
    sizes = {"K": K, "N": COLUMNS, "bits": bits, "block_size": size}
    node = b.node("MatMulNBits", [*inputs, *extra], domain="com.microsoft", accuracy_level=level)
    node.attributes |= {name: attribute(name, value) for name, value in sizes.items()}
    y = node.outputs[0]
    middle = unpack_rows(points, bits)[:, :blocks] if zeros else np.full((COLUMNS, blocks), 1 << (bits - 1))
    codes = unpack_rows(rows.reshape(COLUMNS, -1), bits).astype(np.float64).reshape(COLUMNS, blocks, size)
    weights = ((codes - middle[:, :, None]) * scales[:, :, None]).reshape(COLUMNS, K).T
    return b.model(y=y), weights


@pytest.mark.parametrize(("zeros", "bias"), [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize(("bits", "size"), [(4, 32), (4, 128), (8, 32)])
def test_products_are_those_of_the_weights(bits: int, size: int, zeros: bool, bias: bool) -> None:
    model, weights = product(bits, size, zeros=zeros, bias=bias)
    x = draw(3, K)
    session = sx.Session(model, engine="native")
    expected = x.astype(np.float64) @ weights
    if bias:
        added = model.graph.initializers["c"].initializer
        assert isinstance(added, Tensor)
        expected = expected + added.numpy()
    np.testing.assert_allclose(session.run({"x": x})["y"], expected, 1e-4, 1e-4 * (1 << bits) * np.sqrt(K))
    assert session.stats.fallback_nodes == 0


@pytest.mark.parametrize("level", [0, 4])
def test_the_program_holds_the_bytes_of_the_model(level: int) -> None:
    """The codes of the compiled model are views of the bytes in the file, not copies of them."""
    model, _ = product(4, 32, zeros=True, bias=False, level=level)
    program = compile_model(model, host_target()).program
    tensors = [value.initializer for value in program.model.graph.initializers.values()]
    packed = [t.storage for t in tensors if isinstance(t, Tensor) and isinstance(t.storage, PackedColumns)]
    stored = model.graph.initializers["w"].initializer
    assert isinstance(stored, Tensor)
    assert [np.shares_memory(storage.rows, stored.numpy()) for storage in packed] == [True]


def test_rows_that_are_no_whole_blocks_are_left_to_the_body() -> None:
    b = GraphBuilder(opset=21)
    b.imports["com.microsoft"] = 1
    x = b.input("x", sx.DataType.FLOAT, ["M", 40])
    w, s = b.constant("w", np.full((8, 3, 8), 0x99, np.uint8)), b.constant("s", np.ones((8, 3), np.float32))
    y = b.op("MatMulNBits", x, w, s, domain="com.microsoft", K=40, N=8, bits=4, block_size=16)
    result = sx.Session(b.model(y=y), engine="native").run({"x": np.ones((2, 40), np.float32)})["y"]
    np.testing.assert_array_equal(result, np.full((2, 8), 40, np.float32))  # each weight is 9 - 8
