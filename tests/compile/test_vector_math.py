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

from compile.vector_runs import Doubles, Floats, applied, functions, loop_of, module, run, ulps
from sardonyx._src.compile.llvm.jit import Library, compiled, host
from sardonyx._src.compile.math.exponential import exp
from sardonyx._src.compile.math.function import Definitions
from sardonyx._src.compile.math.tanh import tanh

LANES = host().lanes
FUSED = [False, True] if host().fused else [False]  # every processor runs the text without
INF, NAN = math.inf, math.nan
LEAST = 2.0**-149


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
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": lambda x: 1 / x,
    "round_half_even": np.rint,
    "floor": np.floor,
    "ceil": np.ceil,
}
# Where functions change: branches, overflow, the last denormal, whole results.
EDGES = (0.375, 0.5, 0.5625, 1, 1.5, 2, 3.92, 3.95, 9.01, 10, 14.6, 20, 23.5, 88.02, 88.73, 89, 103.97, 104, 112, 127.5,
         128, 129, 149, 150, 151, 2**-126, LEAST, 2**22, 2**23, 2**24, 1e30, 2.0**127, 3.4028235e38, 0.70710677, 1.4142135,
         4.8780488, 12.94, 14.36, 0.34657359, 0.6931472, 0.99432379, math.pi / 4, math.pi / 2, math.pi, 11 * math.pi, 0.4142135, 0.29289323)  # fmt: skip


@cache
def sample() -> Floats:
    """Floats of all exponents, of the interesting ranges, and 64 neighbours to each side of every edge."""
    rng = np.random.default_rng(6)
    bits = rng.integers(0, 1 << 32, 600_000, np.uint32).view(np.float32)
    middle = np.concatenate([rng.uniform(-12, 12, 500_000), rng.uniform(-160, 160, 250_000)])
    neighbours = np.array([*EDGES, 0], np.float32).view(np.int32)[:, None] + np.arange(
        -64, 65, dtype=np.int32
    )
    special = np.array([INF, NAN, 0], np.float32)
    near = np.concatenate([neighbours.view(np.float32).ravel(), special])
    return np.concatenate([bits, middle.astype(np.float32), near, -near])


@cache
def exact(name: str) -> Doubles:
    with np.errstate(all="ignore"):
        return EXACT[name](sample().astype(np.float64))


def stated(name: str) -> float:
    """The largest error that the function's docstring grants it."""
    text = functions()[name].__doc__ or ""
    if "exact" in text or "correctly rounded" in text:
        return 0.5
    found = re.search(r"within ([\d.]+) ulp", text)
    assert found, f"the docstring of {name} states no error"
    return float(found[1])


def same_bits(left: Floats, right: Floats) -> bool:
    """Whether all bits agree; one NaN is as good as another."""
    return bool(np.all((left.view(np.uint32) == right.view(np.uint32)) | (np.isnan(left) & np.isnan(right))))


def test_every_function_of_one_operand_is_measured() -> None:
    assert {name for name, f in functions().items() if f.arity == 1} == set(EXACT)


@pytest.mark.parametrize("fused", FUSED)
@pytest.mark.parametrize("name", EXACT)
def test_the_error_is_at_most_what_the_docstring_states(name: str, fused: bool) -> None:
    error = ulps(run(name, sample(), lanes=LANES, fused=fused), exact(name))
    worst = int(error.argmax())
    assert error[worst] <= stated(name), f"{name}({sample()[worst]!r}) is {error[worst]} ulp away"


@pytest.mark.parametrize("fused", FUSED)
@pytest.mark.parametrize("lanes", sorted({1, 3, 4, 8, 16} - {LANES}))
@pytest.mark.parametrize("name", EXACT)
def test_lane_counts_give_the_same_bits(name: str, lanes: int, fused: bool) -> None:
    x = sample()[::59]
    assert same_bits(run(name, x, lanes=lanes, fused=fused), run(name, x, lanes=LANES, fused=fused))


@pytest.mark.skipif(not host().triple.startswith("x86_64"), reason="compiles for the oldest x86-64")
@pytest.mark.parametrize("lanes", [1, 4])
def test_a_processor_without_extensions_gives_the_same_bits(lanes: int) -> None:
    oldest = replace(host(), cpu="x86-64", features="", lanes=4, fused=False, registers=16)
    text, names = module(lanes, fused=False)
    library = Library(compiled(text, oldest), names)
    x = sample()[::97]
    for name in EXACT:
        y = applied(loop_of(library, name), lanes, x)
        assert same_bits(y, run(name, x, lanes=LANES, fused=False)), name


@pytest.mark.parametrize("name", EXACT)
def test_nan_stays_nan(name: str) -> None:
    x = np.array([0x7FC00000, 0x7F800001, 0xFFC00000, 0xFFFFFFFF], np.uint32).view(np.float32)
    assert np.isnan(run(name, x, lanes=LANES, fused=host().fused)).all()


LIMITS: dict[str, tuple[list[float], list[float]]] = {
    "exp": ([0, -0.0, INF, -INF, 88.72284, -103.98], [1, 1, INF, 0, INF, 0]),
    "exp2": ([0, 3, -149, 127, 128, -150.5, INF, -INF], [1, 8, LEAST, 2.0**127, INF, 0, INF, 0]),
    "expm1": ([0, -0.0, LEAST, -LEAST, INF, -INF], [0, -0.0, LEAST, -LEAST, INF, -1]),
    "log": ([1, 0, -0.0, INF, -1, -INF], [0, -INF, -INF, INF, NAN, NAN]),
    "log1p": ([0, -0.0, LEAST, -LEAST, -1, INF, -1.5, -INF], [0, -0.0, LEAST, -LEAST, -INF, INF, NAN, NAN]),
    "tanh": ([0, -0.0, LEAST, -LEAST, INF, -INF, 9.1], [0, -0.0, LEAST, -LEAST, 1, -1, 1]),
    "sigmoid": ([0, -0.0, INF, -INF, 20, -104], [0.5, 0.5, 1, 0, 1, 0]),
    "silu": ([0, -0.0, INF, -INF, -1e30, 1e30], [0, -0.0, INF, NAN, -0.0, 1e30]),
    "erf": ([0, -0.0, INF, -INF, 4, LEAST], [0, -0.0, 1, -1, 1, LEAST]),
    "gelu": ([0, -0.0, INF, -INF, -1e30, 1e30], [0, -0.0, INF, NAN, -0.0, 1e30]),
    "softplus": ([INF, -INF, 1e30, -104], [INF, 0, 1e30, 0]),
    "mish": ([0, -0.0, INF, -INF, -1e30, 1e30], [0, -0.0, INF, NAN, -0.0, 1e30]),
    "sin": ([0, -0.0, INF, -INF, LEAST], [0, -0.0, NAN, NAN, LEAST]),
    "cos": ([0, -0.0, INF, -INF], [1, 1, NAN, NAN]),
    "sqrt": ([0, -0.0, 4, INF, -1], [0, -0.0, 2, INF, NAN]),
    "rsqrt": ([0, -0.0, 4, INF, -1], [INF, -INF, 0.5, 0, NAN]),
    "reciprocal": ([0, -0.0, 4, INF, -INF], [INF, -INF, 0.25, 0, -0.0]),
    "round_half_even": ([0.5, 1.5, -0.5, -0.0, INF], [0, 2, -0.0, -0.0, INF]),
    "floor": ([1.5, -1.5, -0.0, -INF], [1, -2, -0.0, -INF]),
    "ceil": ([1.5, -1.5, -0.5, INF], [2, -1, -0.0, INF]),
}  # fmt: skip


@pytest.mark.parametrize("fused", FUSED)
@pytest.mark.parametrize("name", LIMITS)
def test_limits_and_signed_zeros(name: str, fused: bool) -> None:
    given, wanted = (np.array(v, np.float32) for v in LIMITS[name])
    assert same_bits(run(name, given, lanes=LANES, fused=fused), wanted)


@pytest.mark.parametrize("name", ["tanh", "erf", "sin"])
def test_odd_functions_are_odd_to_the_bit(name: str) -> None:
    x = sample()
    there = run(name, x, lanes=LANES, fused=host().fused)
    back = run(name, -x, lanes=LANES, fused=host().fused)
    assert same_bits(there, -back)


@pytest.mark.parametrize("name", ["exp", "exp2", "log", "tanh", "sigmoid"])
def test_rising_functions_never_fall(name: str) -> None:
    x = np.sort(sample()[~np.isnan(sample())])
    y = run(name, x, lanes=LANES, fused=host().fused)
    y = y[~np.isnan(y)]
    assert np.all(y[1:] >= y[:-1])


POWERS: list[tuple[float, float, float]] = [
    (NAN, 0, 1), (NAN, -0.0, 1), (INF, 0, 1), (0, 0, 1), (1, NAN, 1), (1, INF, 1), (-1, INF, 1), (-1, -INF, 1),
    (NAN, 1, NAN), (2, NAN, NAN), (-1, NAN, NAN), (-2, 0.5, NAN), (-LEAST, 1.5, NAN), (-2, 3, -8), (-2, 2, 4), (-2, -1, -0.5),
    (0, -3, INF), (-0.0, -3, -INF), (0, -2, INF), (-0.0, -2, INF), (-0.0, -0.5, INF), (0, -INF, INF),
    (0, 3, 0), (-0.0, 3, -0.0), (-0.0, 2, 0), (-0.0, 0.5, 0), (0, 1e-30, 0), (0, INF, 0),
    (0.5, -INF, INF), (-0.5, INF, 0), (2, INF, INF), (-2, -INF, 0), (2, -INF, 0),
    (INF, 1e-30, INF), (INF, -1, 0), (-INF, -3, -0.0), (-INF, -2, 0), (-INF, 3, -INF), (-INF, 2, INF), (-INF, 0.5, INF),
    (-1, 2.0**24, 1), (-1, 16777215, -1), (2, 127, 2.0**127), (2, 128, INF), (2, -149, LEAST), (2, -150.5, 0), (10, 10, 1e10),
]  # fmt: skip


@pytest.mark.parametrize("fused", FUSED)
def test_powers_at_the_limits(fused: bool) -> None:
    x, y, wanted = (np.array(column, np.float32) for column in zip(*POWERS, strict=True))
    got = run("pow", x, y, lanes=LANES, fused=fused)
    wrong = [row for row, one, right in zip(POWERS, got, wanted, strict=True) if not same_bits(one, right)]
    assert not wrong


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


@pytest.mark.parametrize("fused", FUSED)
def test_powers_are_as_close_as_stated(fused: bool) -> None:
    x, y = power_operands()
    with np.errstate(all="ignore"):
        wanted = np.power(x.astype(np.float64), y.astype(np.float64))
    assert ulps(run("pow", x, y, lanes=LANES, fused=fused), wanted).max() <= stated("pow")


@pytest.mark.parametrize("lanes", sorted({1, 3, 4, 8, 16} - {LANES}))
def test_lane_counts_give_the_same_bits_of_powers(lanes: int) -> None:
    x, y = (v[::17] for v in power_operands())
    fused = host().fused
    assert same_bits(run("pow", x, y, lanes=lanes, fused=fused), run("pow", x, y, lanes=LANES, fused=fused))


@pytest.mark.parametrize("fused", FUSED)
@pytest.mark.parametrize("alpha", [0.5, 1.0, 1.6732632])
def test_elu_and_its_kin_are_as_close_as_stated(alpha: float, fused: bool) -> None:
    x = sample()[~np.isnan(sample())]
    a, gamma = np.full_like(x, alpha), np.full_like(x, 1.0507010)
    wide = x.astype(np.float64)
    below, scale = np.minimum(wide, 0), float(a[0])
    with np.errstate(over="ignore"):
        by_scale = np.minimum(x / a, 0).astype(np.float64)
    wanted = {
        "elu": np.where(x > 0, wide, scale * np.expm1(below)),
        "celu": np.where(x > 0, wide, scale * np.expm1(by_scale)),
        "selu": float(gamma[0]) * np.where(x > 0, wide, scale * np.expm1(below)),
    }
    for name, values in wanted.items():
        operands = (x, a, gamma)[: functions()[name].arity]
        assert ulps(run(name, *operands, lanes=LANES, fused=fused), values).max() <= stated(name), name


def test_definitions_and_declarations_come_once() -> None:
    definitions = Definitions(fused=True)
    assert definitions.need(exp, 4) == "@sx_exp_f4"
    definitions.need(tanh, 4)
    definitions.need(exp, 4)
    definitions.need(exp, 1)
    definitions.declare("declare <4 x float> @llvm.fma.v4f32(<4 x float>, <4 x float>, <4 x float>)")
    text = definitions.text()
    assert text.count("define internal <4 x float> @sx_exp_f4(") == 1
    assert text.count("define internal float @sx_exp_f1(") == 1
    assert text.count("declare <4 x float> @llvm.fma.v4f32(") == 1


def test_without_fused_arithmetic_no_text_asks_for_it() -> None:
    definitions = Definitions(fused=False)
    for function in functions().values():
        definitions.need(function, 4)
    assert "llvm.fma" not in definitions.text()


def test_a_function_alone_is_a_whole_module() -> None:
    call = exp.call(4, "%x")
    assert call == "call <4 x float> @sx_exp_f4(<4 x float> %x)"
    kernel = f"define <4 x float> @kernel(<4 x float> %x) {{\n %y = {call}\n ret <4 x float> %y\n}}"
    assert compiled("\n".join((exp(4), kernel)), host())


def array(*numbers: float) -> NDArray[np.float32]:
    return np.array(numbers, np.float32)


@pytest.mark.parametrize(
    ("got", "want", "error"),
    [(1.0, 1.0, 0), (1.0000001, 1.0, 1), (LEAST, 0.0, 1), (INF, 2.0**128, 0), (NAN, 1, INF)],
)
def test_ulps_are_units_of_the_last_place(got: float, want: float, error: float) -> None:
    assert ulps(array(got), np.array([want])) == pytest.approx(error, abs=1e-6)
