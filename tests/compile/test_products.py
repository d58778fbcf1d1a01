"""Products of any size, with and without what follows them."""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np
import pytest

from sardonyx.compile.blocks import Blocks
from sardonyx.compile.llvm.jit import Library, load
from sardonyx.compile.products.kernel import Epilogue, Tile, product, tile_for
from sardonyx.compile.products.packing import packed, padded, row_addresses
from sardonyx.compile.text import Value
from sardonyx.ir.tensors import Array

TILES = [Tile(6, 4, 16), Tile(6, 2, 8), Tile(2, 1, 4), Tile(3, 2, 1)]
POINTER, COUNT = ctypes.c_void_p, ctypes.c_int64


def relu(code: Blocks, value: Value) -> Value:
    return value.at_least(0)


@cache
def kernel(tile: Tile, epilogue: Epilogue) -> Library:
    return load(product("product", tile, epilogue, fused=True), ["product"])


def run(
    a: Array, b: Array, tile: Tile, epilogue: Epilogue, bias: Array | None = None, more: Array | None = None
) -> Array:
    """A [m, k] times B [k, n], in a frame of numbers that must stay."""
    m, k = a.shape
    n = b.shape[1]
    frame = np.full((m + 1, n + 3), -7, np.float32)
    addend = np.full_like(frame, 5)
    if more is not None:
        addend[:m, :n] = more
    rows = row_addresses(a.ctypes.data, m, k * 4, tile)
    panels, first = packed(b[None], tile), padded(np.zeros(n, np.float32) if bias is None else bias, tile)
    types = [POINTER] * 3 + [COUNT] * 5 + [POINTER] * 2
    call = kernel(tile, epilogue).function("product", *types)
    call(
        rows.ctypes.data,
        panels.ctypes.data,
        frame.ctypes.data,
        n + 3,
        m,
        n,
        1,
        k,
        first.ctypes.data,
        addend.ctypes.data,
    )
    assert (frame[m:] == -7).all(), "a row behind the last one is written"
    assert (frame[:, n:] == -7).all(), "a column behind the last one is written"
    return frame[:m, :n]


@pytest.mark.parametrize("tile", TILES, ids=str)
@pytest.mark.parametrize(
    "size", [(1, 1, 1), (6, 64, 5), (7, 65, 3), (13, 130, 17), (5, 3, 0), (0, 4, 2), (4, 0, 2)], ids=str
)
def test_products_of_any_size(size: tuple[int, int, int], tile: Tile) -> None:
    m, n, k = size
    draw = np.random.default_rng(m + n + k)
    a, b = draw.normal(size=(m, k)).astype(np.float32), draw.normal(size=(k, n)).astype(np.float32)
    np.testing.assert_allclose(run(a, b, tile, Epilogue()), a @ b, 1e-5, 1e-5)


@pytest.mark.parametrize("tile", TILES, ids=str)
def test_bias_addend_and_activation_come_with_it(tile: Tile) -> None:
    draw = np.random.default_rng(1)
    a, b = draw.normal(size=(9, 4)).astype(np.float32), draw.normal(size=(4, 70)).astype(np.float32)
    bias, more = draw.normal(size=70).astype(np.float32), draw.normal(size=(9, 70)).astype(np.float32)
    found = run(a, b, tile, Epilogue(bias=True, more=True, activation=relu), bias, more)
    np.testing.assert_allclose(found, np.maximum(a @ b + bias + more, 0), 1e-5, 1e-5)


def test_a_convolution_is_a_product_with_a_tap_for_each_place() -> None:
    tile = Tile(6, 2, 8)
    draw = np.random.default_rng(2)
    x, w = draw.normal(size=(5, 7, 3)).astype(np.float32), draw.normal(size=(9, 3, 4)).astype(np.float32)
    nothing = np.zeros(3, np.float32)
    place = np.arange(36)
    rows = np.empty((6, 9, 6), np.int64)
    for t in range(9):
        y, column = np.divmod(np.minimum(place, 34), 7)
        y, column = y + t // 3 - 1, column + t % 3 - 1
        inside = (y >= 0) & (y < 5) & (column >= 0) & (column < 7)
        rows[:, t] = np.where(inside, x.ctypes.data + (y * 7 + column) * 12, nothing.ctypes.data).reshape(
            6, 6
        )
    panels, found = packed(w, tile), np.zeros((35, 4), np.float32)
    call = kernel(tile, Epilogue()).function("product", *[POINTER] * 3, *[COUNT] * 5, *[POINTER] * 2)
    call(rows.ctypes.data, panels.ctypes.data, found.ctypes.data, 4, 35, 4, 9, 3, 0, 0)
    framed = np.pad(x, ((1, 1), (1, 1), (0, 0)))
    windows = np.stack([framed[t // 3 : t // 3 + 5, t % 3 : t % 3 + 7] for t in range(9)])
    np.testing.assert_allclose(found.reshape(5, 7, 4), np.einsum("tyxc,tcn->yxn", windows, w), 1e-5, 1e-5)


def test_the_tile_fills_the_registers() -> None:
    assert tile_for(16, 32).width == 64
    assert tile_for(8, 16) == Tile(6, 2, 8)
