"""Ratios: sizes computed in floats, compared with the arithmetic of the kernels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sardonyx._src.ir.dims import ceil_div, evaluate, symbol
from sardonyx._src.ops.math.div import float_quotient, truncated_dim
from sardonyx._src.ops.math.ratios import Element, Ratio, denominator, divide, numerator, quotient, ratio_of

H = symbol("h")
EXACT_FLOATS = 1 << 24  # below which float32 holds every integer
ROUNDINGS: dict[str, tuple[Callable[[Element], object], Callable[[np.float32], np.float32]]] = {
    "floor": (lambda x: numerator(x) // denominator(x), np.floor),
    "ceil": (lambda x: ceil_div(numerator(x), denominator(x)), np.ceil),
    "truncate": (lambda x: truncated_dim(numerator(x), denominator(x)), np.trunc),
}


def test_a_ratio_is_in_lowest_terms_and_a_whole_one_is_a_dim() -> None:
    assert divide(6 * H + 4, 4) == Ratio(3 * H + 2, 2)
    assert divide(4 * H, 2) == 2 * H
    assert quotient(3 * H, -2) == Ratio(-3 * H, 2)
    assert ratio_of(0.375) == Ratio(3, 8)
    assert ratio_of(-2.0) == -2


def test_ratios_that_floats_hold_are_computed_with() -> None:
    half = Ratio(H, 2)
    whole = half * 4
    assert half + half == H and whole is not None
    assert 1 - half == Ratio(2 - H, 2)
    assert whole - H == H
    assert half * Ratio(H, 4) == Ratio(H * H, 8)


@pytest.mark.parametrize(
    "unknown",
    [Ratio(H, 3) + 1, Ratio(H, 3) * 3, quotient(Ratio(H, 3), 2), quotient(H, 0), divide(H, 1 << 20)],
)
def test_what_floats_round_is_not_computed_with(unknown: Element | None) -> None:
    assert unknown is None


@pytest.mark.parametrize("number", [0.1, float("nan"), float("inf")])
def test_numbers_without_a_small_denominator_are_not_known(number: float) -> None:
    assert ratio_of(number) is None


@pytest.mark.parametrize("name", ROUNDINGS)
@given(st.integers(1, 1000), st.integers(-1000, 1000), st.integers(0, EXACT_FLOATS - 1))
def test_rounded_quotients_are_those_of_float32(name: str, divisor: int, offset: int, h: int) -> None:
    dividend = h + offset
    if abs(dividend) + divisor >= EXACT_FLOATS:
        return
    rule, kernel = ROUNDINGS[name]
    known = float_quotient(H + offset, divisor)
    assert known is not None
    rounded = rule(known)
    expected = kernel(np.float32(dividend) / np.float32(divisor))
    assert evaluate(rounded, {"h": h}) == int(expected)  # type: ignore[arg-type]
