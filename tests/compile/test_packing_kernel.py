"""Packing of constants into column panels: every element in its place, for any strides, and nothing else written."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from sardonyx._src.compile.kernels.gemm.packing.packing import make_lazy_panels
from sardonyx._src.compile.kernels.gemm.packing.packing_kernel import (
    constant_packing_module,
    copy_into_panels,
)
from sardonyx._src.compile.kernels.gemm.tile.register_tile import make_tile
from sardonyx._src.compile.kernels.tuning import tuning_for
from sardonyx._src.compile.llvm.jit import host_target, load

Floats = NDArray[np.float32]
SHAPES = [(1, 1, 1), (1, 5, 7), (3, 16, 64), (9, 17, 65), (2, 33, 130), (0, 3, 4), (2, 0, 4), (2, 3, 0)]
ORDERS = [(0, 1, 2), (0, 2, 1), (2, 1, 0), (1, 2, 0)]


def draw_strided(shape: tuple[int, ...], order: tuple[int, ...]) -> Floats:
    """Random numbers in memory with dims in the given order, outermost first."""
    generator = np.random.default_rng(sum(shape))
    dense = generator.standard_normal([shape[i] for i in order], np.float32)
    return dense.transpose(np.argsort(order))


def compute_expected(b: Floats, width: int) -> Floats:
    taps, k, columns = b.shape
    panels = -(-columns // width)
    padded = np.pad(b, ((0, 0), (0, 0), (0, panels * width - columns)))
    return padded.reshape(taps, k, panels, width).transpose(2, 0, 1, 3)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("shape", SHAPES)
def test_panels_hold_every_element(shape: tuple[int, int, int], order: tuple[int, ...]) -> None:
    b = draw_strided(shape, order)
    for vectors in tuning_for(host_target()).gemm.tile_rows:
        tile = make_tile(vectors, host_target())
        assert np.array_equal(make_lazy_panels(b, tile).materialize(), compute_expected(b, tile.width))


def test_each_matrix_of_a_batch_has_panels() -> None:
    b, tile = (
        draw_strided((2, 3, 1, 5, 20), (0, 1, 2, 3, 4)),
        make_tile(1, host_target()),
    )
    panels = make_lazy_panels(b, tile).materialize()
    for i, j in np.ndindex(2, 3):
        assert np.array_equal(panels[i, j], compute_expected(b[i, j], tile.width))


@pytest.mark.parametrize("lanes", [16, 8, 4, 1])
@pytest.mark.parametrize("order", ORDERS)
def test_panels_do_not_depend_on_the_width_of_vectors(lanes: int, order: tuple[int, ...]) -> None:
    b, width = draw_strided((2, 19, 37), order), 32
    panels: Floats = np.zeros(compute_expected(b, width).shape, np.float32)
    call = load(constant_packing_module("fill", replace(host_target(), lanes=lanes)), ["fill"]).function(
        "fill", ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p
    )
    sizes = [*b.shape, width, *(stride // 4 for stride in b.strides)]
    args = np.array([b.ctypes.data, panels.ctypes.data, *sizes], np.int64)
    call(args.ctypes.data, 1, 2 * len(panels), None)
    assert not panels[0, 0].any()
    call(args.ctypes.data, 0, 1, None)
    assert np.array_equal(panels, compute_expected(b, width))


def test_columns_past_the_last_are_not_written() -> None:
    b, panels = draw_strided((1, 3, 5), (0, 1, 2)), np.full((1, 1, 3, 16), 7, np.float32)
    copy_into_panels(panels, b)
    assert np.array_equal(panels[0, :, :, :5], b)
    assert (panels[..., 5:] == 7).all()
