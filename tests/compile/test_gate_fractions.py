"""Sigmoid and tanh of recurrent cells as fractions: the error of each, and of products with one division."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from compile.vector_runs import Doubles, Floats, apply_loop, loop, ulps
from sardonyx._src.compile.codegen.math.function import VectorFunction, VectorFunctionDefinitions
from sardonyx._src.compile.kernels.recurrent.fractions import Fraction, sigmoid_fraction, tanh_fraction
from sardonyx._src.compile.llvm.jit import load

SIGMOID = VectorFunction("gate_sigmoid", 1, lambda b, x: sigmoid_fraction(b, x).value())
TANH = VectorFunction("gate_tanh", 1, lambda b, x: tanh_fraction(b, x).value())
PRODUCT = VectorFunction(
    "gate_product", 2, lambda b, x, y: (sigmoid_fraction(b, x) * tanh_fraction(b, y)).value()
)
RESET = VectorFunction("gate_reset", 2, lambda b, x, h: (sigmoid_fraction(b, x) * Fraction(h)).value())
TARGETS = pytest.mark.parametrize(("lanes", "has_fma"), [(16, True), (8, True), (4, False), (1, False)])


@cache
def compiled(function: VectorFunction, lanes: int, has_fma: bool) -> Callable[..., None]:
    definitions = VectorFunctionDefinitions(has_fma)
    definitions.require(function, lanes)
    name = f"run_{function.name}"
    library = load("\n".join((loop(function, lanes), definitions.text())), [name])
    return library.function(name, ctypes.c_void_p, ctypes.c_int64, *[ctypes.c_void_p] * function.arity)


def run(function: VectorFunction, *operands: Floats, lanes: int, has_fma: bool) -> Floats:
    return apply_loop(compiled(function, lanes, has_fma), lanes, *operands)


def arguments(seed: int, bound: float) -> Floats:
    """Floats of every magnitude, most of them where functions change."""
    draw = np.random.default_rng(seed)
    parts = [draw.uniform(-b, b, 1 << 16) for b in (1, 10, bound)]
    parts.append(np.copysign(2.0 ** draw.uniform(-149, 127, 1 << 14), draw.uniform(-1, 1, 1 << 14)))
    return draw.permutation(np.concatenate(parts).astype(np.float32))


def exact_sigmoid(x: Floats) -> Doubles:
    u = np.exp(-np.abs(x.astype(np.float64)))
    return np.asarray(np.where(x < 0, u, 1) / (1 + u))


def exact_tanh(x: Floats) -> Doubles:
    return np.asarray(np.tanh(x.astype(np.float64)))


def assert_within(result: Floats, expected: Doubles, bound: float, least: float) -> None:
    """Asserts an error of at most `bound` ulp where results are at least `least`, and of at most `least` elsewhere."""
    is_regular = np.abs(expected) >= least
    assert ulps(result, expected)[is_regular].max() <= bound
    assert np.abs(result - expected)[~is_regular].max(initial=0) <= least


@TARGETS
def test_sigmoid_is_within_2_5_ulp(lanes: int, has_fma: bool) -> None:
    x = arguments(0, 120)
    result = run(SIGMOID, x, lanes=lanes, has_fma=has_fma)
    assert_within(result, exact_sigmoid(x), 2.5, 2.0**-126)


@TARGETS
def test_tanh_is_within_2_5_ulp_and_odd(lanes: int, has_fma: bool) -> None:
    x = arguments(1, 20)
    result = run(TANH, x, lanes=lanes, has_fma=has_fma)
    assert_within(result, exact_tanh(x), 2.5, 0)
    assert np.array_equal(run(TANH, -x, lanes=lanes, has_fma=has_fma), -result)


@TARGETS
def test_products_are_within_4_ulp(lanes: int, has_fma: bool) -> None:
    x, y = arguments(2, 120), arguments(3, 20)
    result = run(PRODUCT, x, y, lanes=lanes, has_fma=has_fma)
    assert_within(result, exact_sigmoid(x) * exact_tanh(y), 4, 2.0**-99)


@TARGETS
def test_a_gate_of_a_number_is_within_3_ulp(lanes: int, has_fma: bool) -> None:
    x, h = arguments(4, 80), np.random.default_rng(5).standard_normal(arguments(4, 80).size, np.float32)
    result = run(RESET, x, h, lanes=lanes, has_fma=has_fma)
    assert_within(result, exact_sigmoid(x) * h, 3, 2.0**-120)


@TARGETS
def test_limits(lanes: int, has_fma: bool) -> None:
    x = np.array([-np.inf, np.inf, np.nan, 0, -0.0, -1e30, 1e30, -104, 88.5], np.float32)
    sigmoid, tanh = (run(f, x, lanes=lanes, has_fma=has_fma) for f in (SIGMOID, TANH))
    np.testing.assert_array_equal(sigmoid, [0, 1, np.nan, 0.5, 0.5, 0, 1, 0, 1])
    np.testing.assert_array_equal(tanh, [-1, 1, np.nan, 0, 0, -1, 1, -1, 1])
    assert list(np.signbit(tanh[3:5])) == [False, True]
    product = run(PRODUCT, x, x[::-1].copy(), lanes=lanes, has_fma=has_fma)
    np.testing.assert_array_equal(product, [0, -1, np.nan, -0.5, 0, 0, np.nan, 0, -1])
