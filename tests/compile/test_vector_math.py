"""Vector functions: their error, their limits, and the same bits from any number of lanes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from compile.vector_runs import Doubles, Floats, apply_loop, functions, loop_of, module, run, ulps
from sardonyx._src.compile.codegen.math.exponential import exp
from sardonyx._src.compile.codegen.math.function import VectorFunctionDefinitions
from sardonyx._src.compile.codegen.math.tanh import tanh
from sardonyx._src.compile.llvm.jit import Library, compile_module, host_target

LANES = host_target().lanes
HAS_FMA = [False, True] if host_target().has_fma else [False]  # code without FMA runs on every processor
INF, NAN = math.inf, math.nan
SMALLEST = 2.0**-149


def each(f: Callable[[float], float]) -> Callable[[Doubles], Doubles]:
    """A function of one number over an array."""
    return lambda x: np.fromiter(map(f, x.tolist()), np.float64, x.size)


erfc = each(math.erfc)


def sigmoid(x: Doubles) -> Doubles:
    small = np.exp(-np.abs(x))
    return np.asarray(np.where(x < 0, small, 1) / (1 + small))


def mish(x: Doubles) -> Doubles:
    w = np.exp(np.minimum(x, 100))
    return np.asarray(x * (w * (w + 2) / (w * (w + 2) + 2)))


def gelu(x: Doubles) -> Doubles:
    return np.asarray(np.where(x == INF, INF, 0.5 * x * erfc(-x * math.sqrt(0.5))))


EXACT: dict[str, Callable[[Doubles], Doubles]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "tanh": np.tanh,
    "sigmoid": sigmoid,
    "silu": lambda x: x * sigmoid(x),
    "erf": each(math.erf),
    "gelu": gelu,
    "softplus": lambda x: np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0),
    "mish": mish,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": lambda x: 1 / x,
}
# Arguments at which functions change: branches, overflow, the last subnormal, integral results.
EDGES = (2**-10, 0.375, 0.5, 0.5625, 1, 1.5, 2, 3.92, 3.95, 9.01, 10, 14.6, 20, 23.5, 88.02, 88.73, 89, 89.42, 91, 103.97, 104, 112, 127.5,
         128, 129, 149, 150, 151, 2**-126, SMALLEST, 2**22, 2**23, 2**24, 1e30, 2.0**127, 3.4028235e38, 0.70710677, 1.4142135,
         4.8780488, 12.94, 14.36, 0.34657359, 0.6931472, 0.99432379, math.pi / 4, math.pi / 2, math.pi, 11 * math.pi, 0.4142135, 0.29289323)  # fmt: skip


@cache
def sample() -> Floats:
    """Floats of all exponents, of the interesting ranges, and 64 neighbors on each side of every edge."""
    rng = np.random.default_rng(6)
    bits = rng.integers(0, 1 << 32, 600_000, np.uint32).view(np.float32)
    middle = np.concatenate([rng.uniform(-12, 12, 500_000), rng.uniform(-160, 160, 250_000)])
    neighbors = np.array([*EDGES, 0], np.float32).view(np.int32)[:, None] + np.arange(-64, 65, dtype=np.int32)
    special = np.array([INF, NAN, 0], np.float32)
    near_edges = np.concatenate([neighbors.view(np.float32).ravel(), special])
    return np.concatenate([bits, middle.astype(np.float32), near_edges, -near_edges])


@cache
def exact(name: str) -> Doubles:
    with np.errstate(all="ignore"):
        return EXACT[name](sample().astype(np.float64))


def documented_error(name: str) -> float:
    """The largest error in ulp that the function's docstring states."""
    text = functions()[name].__doc__ or ""
    if "exact" in text or "correctly rounded" in text:
        return 0.5
    match = re.search(r"within ([\d.]+) ulp", text)
    assert match, f"the docstring of {name} states no error"
    return float(match[1])


def have_equal_bits(left: Floats, right: Floats) -> bool:
    """Whether all bits agree, except that NaNs of any payload are equal."""
    return bool(np.all((left.view(np.uint32) == right.view(np.uint32)) | (np.isnan(left) & np.isnan(right))))


def test_every_unary_function_is_measured() -> None:
    assert {name for name, f in functions().items() if f.arity == 1} == set(EXACT)


@pytest.mark.parametrize("has_fma", HAS_FMA)
@pytest.mark.parametrize("name", EXACT)
def test_the_error_is_at_most_what_the_docstring_states(name: str, has_fma: bool) -> None:
    error = ulps(run(name, sample(), lanes=LANES, has_fma=has_fma), exact(name))
    worst = int(error.argmax())
    assert error[worst] <= documented_error(name), f"{name}({sample()[worst]!r}) is {error[worst]} ulp away"


@pytest.mark.parametrize("has_fma", HAS_FMA)
@pytest.mark.parametrize("lanes", sorted({1, 3, 4, 8, 16, 4 * LANES} - {LANES}))
@pytest.mark.parametrize("name", EXACT)
def test_lane_counts_give_the_same_bits(name: str, lanes: int, has_fma: bool) -> None:
    x = sample()[::59]
    assert have_equal_bits(
        run(name, x, lanes=lanes, has_fma=has_fma), run(name, x, lanes=LANES, has_fma=has_fma)
    )


@pytest.mark.skipif(not host_target().triple.startswith("x86_64"), reason="compiles for the oldest x86-64")
@pytest.mark.parametrize("lanes", [1, 4])
def test_the_baseline_instruction_set_gives_the_same_bits(lanes: int) -> None:
    oldest = replace(host_target(), cpu="x86-64", features="", lanes=4, has_fma=False, registers=16)
    text, names = module(lanes, has_fma=False)
    library = Library(compile_module(text, oldest), names)
    x = sample()[::97]
    for name in EXACT:
        y = apply_loop(loop_of(library, name), lanes, x)
        assert have_equal_bits(y, run(name, x, lanes=LANES, has_fma=False)), name


@pytest.mark.parametrize("name", EXACT)
def test_nan_propagates(name: str) -> None:
    x = np.array([0x7FC00000, 0x7F800001, 0xFFC00000, 0xFFFFFFFF], np.uint32).view(np.float32)
    assert np.isnan(run(name, x, lanes=LANES, has_fma=host_target().has_fma)).all()


LIMITS: dict[str, tuple[list[float], list[float]]] = {
    "exp": ([0, -0.0, INF, -INF, 88.72284, -103.98], [1, 1, INF, 0, INF, 0]),
    "exp2": ([0, 3, -149, 127, 128, -150.5, INF, -INF], [1, 8, SMALLEST, 2.0**127, INF, 0, INF, 0]),
    "expm1": ([0, -0.0, SMALLEST, -SMALLEST, INF, -INF], [0, -0.0, SMALLEST, -SMALLEST, INF, -1]),
    "log": ([1, 0, -0.0, INF, -1, -INF], [0, -INF, -INF, INF, NAN, NAN]),
    "log1p": ([0, -0.0, SMALLEST, -SMALLEST, -1, INF, -1.5, -INF], [0, -0.0, SMALLEST, -SMALLEST, -INF, INF, NAN, NAN]),
    "tanh": ([0, -0.0, SMALLEST, -SMALLEST, INF, -INF, 9.1], [0, -0.0, SMALLEST, -SMALLEST, 1, -1, 1]),
    "sigmoid": ([0, -0.0, INF, -INF, 20, -104], [0.5, 0.5, 1, 0, 1, 0]),
    "silu": ([0, -0.0, INF, -INF, -1e30, 1e30], [0, -0.0, INF, NAN, -0.0, 1e30]),
    "erf": ([0, -0.0, INF, -INF, 4, SMALLEST], [0, -0.0, 1, -1, 1, SMALLEST]),
    "gelu": ([0, -0.0, INF, -INF, -1e30, 1e30], [0, -0.0, INF, NAN, -0.0, 1e30]),
    "softplus": ([INF, -INF, 1e30, -104], [INF, 0, 1e30, 0]),
    "mish": ([0, -0.0, INF, -INF, -1e30, 1e30], [0, -0.0, INF, NAN, -0.0, 1e30]),
    "sin": ([0, -0.0, INF, -INF, SMALLEST], [0, -0.0, NAN, NAN, SMALLEST]),
    "cos": ([0, -0.0, INF, -INF], [1, 1, NAN, NAN]),
    "tan": ([0, -0.0, INF, -INF, SMALLEST, -SMALLEST], [0, -0.0, NAN, NAN, SMALLEST, -SMALLEST]),
    "asin": ([0, -0.0, SMALLEST, 1.0000001, -2, INF, -INF], [0, -0.0, SMALLEST, NAN, NAN, NAN, NAN]),
    "acos": ([1, 1.0000001, -2, INF, -INF], [0, NAN, NAN, NAN, NAN]),
    "atan": ([0, -0.0, SMALLEST, INF, -INF], [0, -0.0, SMALLEST, math.pi / 2, -math.pi / 2]),
    "sinh": ([0, -0.0, SMALLEST, INF, -INF, 90, -90], [0, -0.0, SMALLEST, INF, -INF, INF, -INF]),
    "cosh": ([0, -0.0, SMALLEST, INF, -INF, 90, -90], [1, 1, 1, INF, INF, INF, INF]),
    "asinh": ([0, -0.0, SMALLEST, INF, -INF], [0, -0.0, SMALLEST, INF, -INF]),
    "acosh": ([1, 0.99999994, 0, -0.0, -5, INF, -INF], [0, NAN, NAN, NAN, NAN, INF, NAN]),
    "atanh": ([0, -0.0, SMALLEST, 1, -1, 1.0000001, -3, INF], [0, -0.0, SMALLEST, INF, -INF, NAN, NAN, NAN]),
    "sqrt": ([0, -0.0, 4, INF, -1], [0, -0.0, 2, INF, NAN]),
    "rsqrt": ([0, -0.0, 4, INF, -1], [INF, -INF, 0.5, 0, NAN]),
    "reciprocal": ([0, -0.0, 4, INF, -INF], [INF, -INF, 0.25, 0, -0.0]),
}  # fmt: skip


@pytest.mark.parametrize("has_fma", HAS_FMA)
@pytest.mark.parametrize("name", LIMITS)
def test_limits_and_signed_zeros(name: str, has_fma: bool) -> None:
    x, expected = (np.array(v, np.float32) for v in LIMITS[name])
    assert have_equal_bits(run(name, x, lanes=LANES, has_fma=has_fma), expected)


@pytest.mark.parametrize("name", ["tanh", "erf", "sin", "tan", "asin", "atan", "sinh", "asinh", "atanh"])
def test_odd_functions_are_odd_to_the_bit(name: str) -> None:
    x = sample()
    positive = run(name, x, lanes=LANES, has_fma=host_target().has_fma)
    negative = run(name, -x, lanes=LANES, has_fma=host_target().has_fma)
    assert have_equal_bits(positive, -negative)


@pytest.mark.parametrize("name", ["exp", "exp2", "log", "tanh", "sigmoid"])
def test_increasing_functions_are_monotonic(name: str) -> None:
    x = np.sort(sample()[~np.isnan(sample())])
    y = run(name, x, lanes=LANES, has_fma=host_target().has_fma)
    y = y[~np.isnan(y)]
    assert np.all(y[1:] >= y[:-1])


POWERS: list[tuple[float, float, float]] = [
    (NAN, 0, 1), (NAN, -0.0, 1), (INF, 0, 1), (0, 0, 1), (1, NAN, 1), (1, INF, 1), (-1, INF, 1), (-1, -INF, 1),
    (NAN, 1, NAN), (2, NAN, NAN), (-1, NAN, NAN), (-2, 0.5, NAN), (-SMALLEST, 1.5, NAN), (-2, 3, -8), (-2, 2, 4), (-2, -1, -0.5),
    (0, -3, INF), (-0.0, -3, -INF), (0, -2, INF), (-0.0, -2, INF), (-0.0, -0.5, INF), (0, -INF, INF),
    (0, 3, 0), (-0.0, 3, -0.0), (-0.0, 2, 0), (-0.0, 0.5, 0), (0, 1e-30, 0), (0, INF, 0),
    (0.5, -INF, INF), (-0.5, INF, 0), (2, INF, INF), (-2, -INF, 0), (2, -INF, 0),
    (INF, 1e-30, INF), (INF, -1, 0), (-INF, -3, -0.0), (-INF, -2, 0), (-INF, 3, -INF), (-INF, 2, INF), (-INF, 0.5, INF),
    (-1, 2.0**24, 1), (-1, 16777215, -1), (2, 127, 2.0**127), (2, 128, INF), (2, -149, SMALLEST), (2, -150.5, 0), (10, 10, 1e10),
]  # fmt: skip


@pytest.mark.parametrize("has_fma", HAS_FMA)
def test_powers_at_the_limits(has_fma: bool) -> None:
    x, y, expected = (np.array(column, np.float32) for column in zip(*POWERS, strict=True))
    actual = run("pow", x, y, lanes=LANES, has_fma=has_fma)
    rows = zip(POWERS, actual, expected, strict=True)
    assert not [row for row, result, right in rows if not have_equal_bits(result, right)]


def power_operands() -> tuple[Floats, Floats]:
    """Bases of all exponents, of both signs and near 1; exponents that keep many of the results finite."""
    rng = np.random.default_rng(9)
    n = 200_000
    wide = rng.integers(0, 0x7F800000, n).astype(np.uint32).view(np.float32)
    close = (1 + rng.uniform(-1e-3, 1e-3, n)).astype(np.float32)
    usual = rng.uniform(0, 20, n).astype(np.float32)
    bases = np.concatenate([wide, close, usual, -usual])
    exponents = [
        rng.normal(0, 1, n),
        rng.normal(0, 30_000, n),
        rng.uniform(-30, 30, n),
        rng.integers(-20, 20, n),
    ]
    return bases, np.concatenate(exponents).astype(np.float32)


@pytest.mark.parametrize("has_fma", HAS_FMA)
def test_the_error_of_pow_is_at_most_what_the_docstring_states(has_fma: bool) -> None:
    x, y = power_operands()
    with np.errstate(all="ignore"):
        expected = np.power(x.astype(np.float64), y.astype(np.float64))
    assert ulps(run("pow", x, y, lanes=LANES, has_fma=has_fma), expected).max() <= documented_error("pow")


@pytest.mark.parametrize("lanes", sorted({1, 3, 4, 8, 16} - {LANES}))
def test_lane_counts_give_the_same_bits_of_pow(lanes: int) -> None:
    x, y = (v[::17] for v in power_operands())
    has_fma = host_target().has_fma
    assert have_equal_bits(
        run("pow", x, y, lanes=lanes, has_fma=has_fma), run("pow", x, y, lanes=LANES, has_fma=has_fma)
    )


@pytest.mark.parametrize("has_fma", HAS_FMA)
@pytest.mark.parametrize("alpha", [0.5, 1.0, 1.6732632])
def test_the_error_of_elu_celu_and_selu_is_at_most_what_the_docstring_states(
    alpha: float, has_fma: bool
) -> None:
    x = sample()[~np.isnan(sample())]
    a, gamma = np.full_like(x, alpha), np.full_like(x, 1.0507010)
    wide = x.astype(np.float64)
    below, scale = np.minimum(wide, 0), float(a[0])
    with np.errstate(over="ignore"):
        by_scale = np.minimum(x / a, 0).astype(np.float64)
    expected = {
        "elu": np.where(x > 0, wide, scale * np.expm1(below)),
        "celu": np.where(x > 0, wide, scale * np.expm1(by_scale)),
        "selu": float(gamma[0]) * np.where(x > 0, wide, scale * np.expm1(below)),
    }
    for name, values in expected.items():
        operands = (x, a, gamma)[: functions()[name].arity]
        assert ulps(run(name, *operands, lanes=LANES, has_fma=has_fma), values).max() <= documented_error(
            name
        ), name


def test_definitions_and_declarations_come_once() -> None:
    definitions = VectorFunctionDefinitions(has_fma=True)
    assert definitions.require(exp, 4) == "@sx_exp_f4"
    definitions.require(tanh, 4)
    definitions.require(exp, 4)
    definitions.require(exp, 1)
    definitions.declare("declare <4 x float> @llvm.fma.v4f32(<4 x float>, <4 x float>, <4 x float>)")
    text = definitions.text()
    assert text.count("define internal <4 x float> @sx_exp_f4(") == 1
    assert text.count("define internal float @sx_exp_f1(") == 1
    assert text.count("declare <4 x float> @llvm.fma.v4f32(") == 1


def test_without_fma_no_definition_uses_it() -> None:
    definitions = VectorFunctionDefinitions(has_fma=False)
    for function in functions().values():
        definitions.require(function, 4)
    assert "llvm.fma" not in definitions.text()


def test_the_definition_of_one_function_is_a_complete_module() -> None:
    call = exp.call(4, "%x")
    definitions = VectorFunctionDefinitions(host_target().has_fma)
    definitions.require(exp, 4)
    assert call == "call <4 x float> @sx_exp_f4(<4 x float> %x)"
    kernel = f"define <4 x float> @kernel(<4 x float> %x) {{\n %y = {call}\n ret <4 x float> %y\n}}"
    assert compile_module("\n".join((definitions.text(), kernel)), host_target())


def array(*numbers: float) -> NDArray[np.float32]:
    return np.array(numbers, np.float32)


@pytest.mark.parametrize(
    ("actual", "expected", "error"),
    [(1.0, 1.0, 0), (1.0000001, 1.0, 1), (SMALLEST, 0.0, 1), (INF, 2.0**128, 0), (NAN, 1, INF)],
)
def test_ulps_are_units_in_the_last_place(actual: float, expected: float, error: float) -> None:
    assert ulps(array(actual), np.array([expected])) == pytest.approx(error, abs=1e-6)
