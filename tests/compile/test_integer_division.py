"""Div, Mod and Pow of integers of every width, by operands that may be zero."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from compile.native_agreement import assert_engines_agree
from models import parse_model
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array

TYPES = {"int8": "i1", "int16": "i2", "int32": "i4", "int64": "i8", "uint8": "u1", "uint16": "u2", "uint32": "u4", "uint64": "u8"}  # fmt: skip
NODES = ["Div(a, b)", "Mod(a, b)", "Mod <fmod = 1> (a, b)"]
EXPONENTS = ["int8", "int32", "int64", "uint8", "uint64"]


def operands(dtype: str, seed: int) -> Array:
    """Random numbers of every magnitude, and the ends of the type, none of them zero."""
    info, draw = np.iinfo(TYPES[dtype]), np.random.default_rng(seed)
    wide = draw.integers(info.min, info.max, 60, TYPES[dtype], endpoint=True)
    ends = np.array([info.min or 1, info.max, 1, -1 if info.min else 2, 3], TYPES[dtype])
    numbers = np.concatenate([wide, wide >> draw.integers(0, info.bits, 60).astype(TYPES[dtype]), ends])
    return np.where(numbers == 0, 7, numbers).astype(TYPES[dtype])


@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize("dtype", TYPES)
def test_divisors_of_any_shape(node: str, dtype: str) -> None:
    a, b = operands(dtype, 0), operands(dtype, 1)
    pairs = {"a": np.repeat(a, b.size), "b": np.tile(b, a.size)}
    text = f"g ({dtype}[N] a, {dtype}[N] b) => ({dtype}[N] y) {{ y = {node} }}"
    assert_engines_agree(
        text, pairs, {"a": a[:0], "b": b[:0]}, {"a": a[:1], "b": b[:1]}, {"a": a[:17], "b": b[:17]}
    )
    text = f"g ({dtype}[N,M] a, {dtype}[1,M] b) => ({dtype}[N,M] y) {{ y = {node} }}"
    assert_engines_agree(text, {"a": a[:60].reshape(4, 15), "b": b[:15].reshape(1, 15)})
    text = f"g ({dtype}[N] a, {dtype} b) => ({dtype}[N] y) {{ y = {node} }}"
    assert_engines_agree(text, {"a": a, "b": b[3].reshape(())})


@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize("place", [0, 15, 16, 17, 5000])
def test_a_zero_is_an_error(node: str, place: int) -> None:
    session = sx.Session(
        parse_model(f"g (int32[N] a, int32[N] b) => (int32[N] y) {{ y = {node} }}"), engine="native"
    )
    assert session.stats.fallback_nodes == 0
    a, b = np.ones(5001, np.int32), np.ones(5001, np.int32)
    session.run({"a": a, "b": b})
    b[place] = 0
    with pytest.raises(EvaluationError, match="divisor must not be 0"):
        session.run({"a": a, "b": b})


def test_constant_divisors_need_no_check() -> None:
    text = "g (int32[N,4] a) => (int32[N,4] y) <int32[4] b = {1, 2, 3, -4}> { y = Div(a, b) }"
    a = operands("int32", 2)[:64].reshape(16, 4)
    assert_engines_agree(text, {"a": a})
    assert_engines_agree(text.replace("-4", "4"), {"a": a})
    assert_engines_agree(text.replace("Div", "Pow").replace("-4", "70"), {"a": a})


@pytest.mark.parametrize("base", ["int32", "int64"])
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_powers_of_integers_wrap_around(base: str, exponent: str) -> None:
    x = operands(base, 3)
    low = -4 if exponent.startswith("i") else 0
    y = np.array([*range(low, 40), 63, 64, 65, 100, *([2**33 + 1, 2**40] if exponent.endswith("64") else [])])
    feeds = {"a": np.repeat(x, y.size), "b": np.tile(y.astype(TYPES[exponent]), x.size)}
    assert_engines_agree(f"g ({base}[N] a, {exponent}[N] b) => ({base}[N] y) {{ y = Pow(a, b) }}", feeds)


def test_zero_to_a_negative_power_is_an_error() -> None:
    text = "g (int64[N] a, int64[N] b) => (int64[N] y) { y = Pow(a, b) }"
    assert_engines_agree(text, {"a": np.array([0, 0, 1, -1]), "b": np.array([0, 3, -3, -3])})
    session = sx.Session(parse_model(text), engine="native")
    with pytest.raises(EvaluationError, match="negative power"):
        session.run({"a": np.array([0]), "b": np.array([-1])})
