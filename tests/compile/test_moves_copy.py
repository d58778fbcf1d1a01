"""Copies between tensors of any strides."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from compile import guarded
from sardonyx._src.compile.llvm.jit import host
from sardonyx._src.compile.moves.copy import copied
from sardonyx._src.compile.step import Step
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ir.tensors import Array

WIDTHS: list[Any] = [np.uint8, np.int16, np.float32, np.int64, np.complex128]
LANES = (16, 8, 4, 1)


def numbers(shape: tuple[int, ...], dtype: Any = np.float32) -> Array:
    return np.random.default_rng(0).integers(0, 100, shape).astype(dtype)


def permute(array: Array, perm: tuple[int, ...]) -> Array:
    """The array with its dims in another order, by the copy."""
    x, from_ = guarded.tensor(array)
    found = np.zeros([array.shape[p] for p in perm], array.dtype)
    y, to = guarded.tensor(found)
    guarded.run(copied(x.permuted(perm), y), {from_: array, to: found})
    return found


@pytest.mark.parametrize("dtype", WIDTHS)
@pytest.mark.parametrize("shape", [(3, 4, 5), (1, 70, 33), (17, 2, 16), (0, 3, 4), (32, 1, 48), (2, 0, 7)])
def test_a_transpose_of_any_dims(shape: tuple[int, ...], dtype: Any) -> None:
    array = numbers(shape, dtype)
    for perm in permutations(range(3)):
        np.testing.assert_array_equal(permute(array, perm), array.transpose(perm))


def test_a_transpose_of_many_dims() -> None:
    array = numbers((2, 3, 2, 5, 4, 3))
    for perm in ((0, 1, 4, 2, 5, 3), (5, 4, 3, 2, 1, 0), (1, 0, 3, 2, 5, 4), (0, 3, 1, 2, 5, 4)):
        np.testing.assert_array_equal(permute(array, perm), array.transpose(perm))


@pytest.mark.parametrize("count", [0, 1, 2, 3, 5, 8, 15, 31, 32, 63, 64, 65, 127, 129, 300, 40001])
def test_runs_of_any_length(count: int) -> None:
    array = numbers((count,), np.uint8)
    np.testing.assert_array_equal(permute(array, (0,)), array)


@pytest.mark.parametrize("dtype", WIDTHS)
@pytest.mark.parametrize("lanes", LANES)
def test_every_kind_of_row_on_every_target(lanes: int, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    target = replace(host(), lanes=lanes)
    monkeypatch.setattr(guarded, "target", lambda: target)
    array = numbers((19, 37), dtype)
    np.testing.assert_array_equal(permute(array, (1, 0)), array.T)
    np.testing.assert_array_equal(permute(array, (0, 1)), array)
    np.testing.assert_array_equal(spread(array[:, :1].copy(), (19, 37)), np.repeat(array[:, :1], 37, 1))


def spread(array: Array, shape: tuple[int, ...]) -> Array:
    """The array broadcast to a shape of its rank."""
    x, from_ = guarded.tensor(array)
    strides = tuple(0 if d == 1 else s for d, s in zip(x.shape, x.strides, strict=True))
    found = np.zeros(shape, array.dtype)
    y, to = guarded.tensor(found)
    guarded.run(copied(replace(x, shape=shape, strides=strides), y), {from_: array, to: found})
    return found


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 1, 5), (1, 7, 1), (2, 7, 1), (2, 1, 1)])
def test_a_broadcast_along_any_dims(shape: tuple[int, ...]) -> None:
    array = numbers(shape)
    np.testing.assert_array_equal(spread(array, (2, 7, 5)), np.broadcast_to(array, (2, 7, 5)))


def test_a_part_is_written_and_nothing_around_it() -> None:
    array, found = numbers((4, 3)), np.full((4, 10), -1, np.float32)
    x, from_ = guarded.tensor(array)
    y, to = guarded.tensor(found)
    part = Tensor(y.dtype, (4, 3), (10, 1), to, 5)
    guarded.run(copied(x, part), {from_: array, to: found})
    expected = np.full((4, 10), -1, np.float32)
    expected[:, 5:8] = array
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("step", [2, 3, -1, -2])
def test_a_slice_in_steps(step: int) -> None:
    array = numbers((5, 11))
    wanted = array[:, ::step]
    x, from_ = guarded.tensor(array)
    found = np.zeros(wanted.shape, np.float32)
    y, to = guarded.tensor(found)
    part = replace(x, shape=wanted.shape, strides=(11, step), offset=10 if step < 0 else 0)
    guarded.run(copied(part, y), {from_: array, to: found})
    np.testing.assert_array_equal(found, wanted)


def test_sizes_may_be_known_late() -> None:
    n, h, w = symbol("N"), symbol("H"), symbol("W")
    for perm in ((0, 2, 3, 1), (0, 3, 1, 2), (0, 1, 2, 3), (3, 2, 1, 0)):
        for sizes in ((2, 6, 5), (1, 17, 3), (0, 4, 4), (3, 0, 2)):
            array = numbers((sizes[0], 8, *sizes[1:]))
            _, from_ = guarded.tensor(array)
            x = Tensor(
                guarded.tensor(array)[0].dtype, (n, 8, h, w), (8 * h * w, h * w, w, 1), from_
            ).permuted(perm)
            found = np.zeros([array.shape[p] for p in perm], np.float32)
            _, b, c, d = x.shape
            _, to = guarded.tensor(found)
            y = Tensor(x.dtype, x.shape, (b * c * d, c * d, d, 1), to)
            step = copied(x, y)
            guarded.run(step, {from_: array, to: found}, dict(zip("NHW", sizes, strict=True)))
            np.testing.assert_array_equal(found, array.transpose(perm))


def test_channels_go_last_in_blocks_even_where_pixels_are_known_late() -> None:
    h, w = symbol("H"), symbol("W")
    x, _ = guarded.tensor(numbers((1, 8, 2, 2)))
    planar = replace(x, shape=(1, 8, h, w), strides=(8 * h * w, h * w, w, 1))
    pixels = replace(x, shape=(1, 8, h, w), strides=(8 * h * w, 1, 8 * w, 8))
    assert key(copied(planar, pixels)).startswith("copy_bands")
    assert key(copied(pixels, planar)).startswith("copy_bands")
    assert key(copied(pixels, pixels)) == "copy_runs_1_1"


def key(step: Step) -> str:
    return step.kernel.key
