"""Panels of constants: every element in its place, whatever the strides, and nothing read or written beside them."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from sardonyx._src.compile.llvm.jit import host, load
from sardonyx._src.compile.products.packing import packed
from sardonyx._src.compile.products.panel_kernel import fill, source
from sardonyx._src.compile.products.tiles import tile_of

Floats = NDArray[np.float32]
SHAPES = [(1, 1, 1), (1, 5, 7), (3, 16, 64), (9, 17, 65), (2, 33, 130), (0, 3, 4), (2, 0, 4), (2, 3, 0)]
ORDERS = [(0, 1, 2), (0, 2, 1), (2, 1, 0), (1, 2, 0)]


def strided(shape: tuple[int, ...], order: tuple[int, ...]) -> Floats:
    """Random numbers whose dims lie in memory in that order."""
    draw = np.random.default_rng(sum(shape))
    dense = draw.standard_normal([shape[i] for i in order], np.float32)
    return dense.transpose(np.argsort(order))


def expected(b: Floats, width: int) -> Floats:
    taps, k, columns = b.shape
    panels = -(-columns // width)
    padded = np.pad(b, ((0, 0), (0, 0), (0, panels * width - columns)))
    return padded.reshape(taps, k, panels, width).transpose(2, 0, 1, 3)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("shape", SHAPES)
def test_panels_hold_every_element(shape: tuple[int, int, int], order: tuple[int, ...]) -> None:
    b = strided(shape, order)
    for vectors in (1, 4):
        tile = tile_of(vectors, host().lanes, host().registers)
        assert np.array_equal(packed(b, tile), expected(b, tile.width))


def test_stacks_of_matrices_have_panels_each() -> None:
    b, tile = strided((2, 3, 1, 5, 20), (0, 1, 2, 3, 4)), tile_of(1, host().lanes, host().registers)
    found = packed(b, tile)
    for i, j in np.ndindex(2, 3):
        assert np.array_equal(found[i, j], expected(b[i, j], tile.width))


@pytest.mark.parametrize("lanes", [16, 8, 4, 1])
@pytest.mark.parametrize("order", ORDERS)
def test_panels_are_the_same_for_every_width_of_vectors(lanes: int, order: tuple[int, ...]) -> None:
    b, width = strided((2, 19, 37), order), 32
    found: Floats = np.zeros(expected(b, width).shape, np.float32)
    call = load(source("fill", replace(host(), lanes=lanes)), ["fill"]).function(
        "fill", ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p
    )
    sizes = [*b.shape, width, *(stride // 4 for stride in b.strides)]
    args = np.array([b.ctypes.data, found.ctypes.data, *sizes], np.int64)
    call(args.ctypes.data, 1, 2 * len(found), None)
    assert not found[0, 0].any()
    call(args.ctypes.data, 0, 1, None)
    assert np.array_equal(found, expected(b, width))


def test_columns_behind_the_last_keep_what_they_have() -> None:
    b, panels = strided((1, 3, 5), (0, 1, 2)), np.full((1, 1, 3, 16), 7, np.float32)
    fill(panels, b)
    assert np.array_equal(panels[0, :, :, :5], b)
    assert (panels[..., 5:] == 7).all()
