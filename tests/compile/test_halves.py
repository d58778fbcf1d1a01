"""float16 and bfloat16 in kernels: every number of theirs, and how others are rounded to them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from compile.guarded import run, tensor
from compile.lane_widths import with_lanes
from sardonyx._src.compile.elementwise.kernel import elementwise
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.loops.ir import Cast, Local
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.tensors import Array

HALVES = [DataType.FLOAT16, DataType.BFLOAT16]
EVERY = np.arange(1 << 16, dtype=np.uint16)
WAYS = [(16, True), (8, True), (4, True), (1, True), (16, False), (4, False)]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """NumPy says when it makes infinities, and takes offence at some NaN."""
    with np.errstate(all="ignore"):
        yield


def way(step: Step, lanes: int, fused: bool) -> Step:
    """The step for so many lanes, and with instructions between float16 and float32 or without."""
    kernel = with_lanes(step, lanes).kernel

    def source(name: str, target: Target) -> str:
        return kernel.source(name, replace(target, fused=fused and target.fused))

    return replace(step, kernel=Kernel(f"{kernel.key}:{fused}", source))


def cast(x: Array, to: DataType, lanes: int = 16, *, fused: bool = True) -> Array:
    """x as another type by a kernel."""
    y = np.zeros(x.shape, to.numpy)
    (source, here), (goal, there) = tensor(x), tensor(y)
    step = elementwise(Cast(to, Local("i0")), [source], goal)
    run(way(step, lanes, fused), {here: stored(x), there: stored(y)}, chunk=1 << 12)
    return y


def stored(x: Array) -> Array:
    """An array as it lies in memory: 16 bits as integers, of which NaN are equal, too."""
    return x.view(np.uint16) if x.itemsize == 2 else x


def assert_same(found: Array, wanted: Array) -> None:
    """The same bits, but for NaN."""
    here, there = found.astype(np.float64), wanted.astype(np.float64)
    np.testing.assert_array_equal(here, there)
    np.testing.assert_array_equal(np.signbit(here[here == 0]), np.signbit(there[there == 0]))


def borders(half: DataType) -> Array:
    """float32 around what is halfway between two numbers of 16 bits, and any."""
    numbers = EVERY.view(half.numpy).astype(np.float32)
    middle = ((numbers.astype(np.float64) + np.roll(numbers, -1)) / 2).astype(np.float32)
    near = [(middle.view(np.uint32) + np.uint32(step)).view(np.float32) for step in (0, 1, 2**32 - 1)]
    drawn = np.random.default_rng(0).integers(0, 1 << 32, 1 << 17, dtype=np.uint32).view(np.float32)
    return np.concatenate([numbers, *near, drawn])


@pytest.mark.parametrize(("lanes", "fused"), WAYS)
@pytest.mark.parametrize("half", HALVES, ids=lambda half: half.text)
def test_every_number_of_16_bits_is_widened_exactly(half: DataType, lanes: int, fused: bool) -> None:
    x = EVERY.view(half.numpy)
    assert_same(cast(x, DataType.FLOAT, lanes, fused=fused), x.astype(np.float32))


@pytest.mark.parametrize(("lanes", "fused"), WAYS)
@pytest.mark.parametrize("half", HALVES, ids=lambda half: half.text)
def test_floats_become_the_nearest_and_ties_the_even_one(half: DataType, lanes: int, fused: bool) -> None:
    x = borders(half)
    assert_same(cast(x, half, lanes, fused=fused), x.astype(half.numpy))


def test_float16_and_bfloat16_become_each_other() -> None:
    for source, to in (HALVES, HALVES[::-1]):
        x = EVERY.view(source.numpy)
        assert_same(cast(x, to), x.astype(np.float32).astype(to.numpy))


def test_doubles_are_rounded_once() -> None:
    """By way of float32 1 + 2**-8 + 2**-40 would be a tie, which goes down."""
    x = np.array([1 + 2**-8 + 2**-40, -1 - 2**-8 - 2**-40, 1 + 2**-8, 1e300, -1e-300, np.nan, np.inf])
    wanted = [1.0078125, -1.0078125, 1.0, np.inf, -0.0, np.nan, np.inf]
    assert_same(cast(x, DataType.BFLOAT16), np.array(wanted, ml_dtypes.bfloat16))
    x = np.array([1 + 2**-11 + 2**-50, 65519.999999, 65520.0, 2**-25 + 2**-60])
    assert_same(cast(x, DataType.FLOAT16), x.astype(np.float16))


@pytest.mark.parametrize("own", [np.int64, np.uint64, np.int32, np.uint32])
def test_integers_are_rounded_once(own: type[np.generic]) -> None:
    """Around ties of bfloat16, which has 8 bits: what is further to the right decides."""
    top = np.iinfo(own).max  # type: ignore[type-var]
    x = [
        sign * ((0x101 << shift) + more)
        for shift in range(1, 55)
        for more in (-1, 0, 1)
        for sign in (1, -1)
        if (0x101 << shift) < top and (sign > 0 or np.issubdtype(own, np.signedinteger))
    ]
    x += [0, int(top), int(np.iinfo(own).min)]  # type: ignore[type-var]
    wanted = [nearest(number) for number in x]
    np.testing.assert_array_equal(cast(np.array(x, own), DataType.BFLOAT16).astype(np.float64), wanted)


def nearest(number: int) -> int:
    """The number with 8 bits that is nearest, of two the even one."""
    size = abs(number)
    spare = max(size.bit_length() - 8, 0)
    whole, rest = size >> spare, size & ((1 << spare) - 1)
    half = 1 << spare >> 1
    whole += rest > half or (rest == half and spare > 0 and whole & 1)
    return (whole << spare) * (1 if number >= 0 else -1)


def test_small_integers_and_bools_are_themselves() -> None:
    for x in (np.arange(-128, 128, dtype=np.int8), np.arange(256, dtype=np.uint8), np.array([True, False])):
        for half in HALVES:
            assert_same(cast(x, half), x.astype(np.float32))


def test_what_leaves_16_bits_loses_its_fraction() -> None:
    x = np.array([-2.75, -0.0, 0.5, 3.999, 240.0, np.nan], np.float16)
    np.testing.assert_array_equal(cast(x[:5], DataType.INT32), x[:5].astype(np.int32))
    np.testing.assert_array_equal(cast(x, DataType.BOOL), [True, False, True, True, True, True])
