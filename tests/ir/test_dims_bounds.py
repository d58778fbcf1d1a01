"""Bounds, equality and order of symbolic dims."""

from __future__ import annotations

import pytest

from sardonyx._src.ir.dims import Dim, bounds, dim_max, dim_min, known_equal, known_ge, symbol

M, N = symbol("M"), symbol("N")


@pytest.mark.parametrize(
    ("dim", "low", "high"),
    [
        (5, 5, 5),
        (None, None, None),
        (N, 0, None),
        (N + 3, 3, None),
        (2 - N, None, 2),
        (N - M, None, None),
        (N * M + 1, 1, None),
        (N % 4, 0, 3),
        (2 * (N % 4) - 7, -7, -1),
        ((N + 7) // 2, 3, None),
        ((1 - N) // 2, None, 0),
        ((N - 1) // 2 + 1, 0, None),
        (N // (M + 3), 0, None),
        ((N % 10) // (M + 3), 0, 3),
        ((N - 5) // (M + 2), -3, None),
        ((-1 - N) // (M + 2), None, -1),
        (N % (M + 3), 0, None),
        ((N % 3) % (M + 1), 0, 2),
        (N % dim_min(M, 4), 0, 3),
        (dim_max(N, 4), 4, None),
        (dim_min(N, 4), 0, 4),
        (dim_max(N % 3, M % 5), 0, 4),
        (dim_min(N % 3, M % 5), 0, 2),
        (N - N // 2, 0, None),
        (N - dim_min(M, N, 3), 0, None),
        (dim_max(M, N) - N, 0, None),
        (3 * (N // 3) - N, -2, 0),
        (N // (M - 5), None, None),
        (N // (0 // M), None, None),
        (10**400 * N - 10**400, -(10**400), None),
    ],
)
def test_bounds(dim: Dim, low: int | None, high: int | None) -> None:
    assert bounds(dim) == (low, high)


@pytest.mark.parametrize(
    ("a", "b", "answer"),
    [
        (3, 3, True),
        (3, 4, False),
        (N, N, True),
        (N, N + 1, False),
        (N, M, None),
        (N, 3, None),
        (N + 4, 3, False),
        (2 * N, 2 * M + 1, False),
        (N % 4, 4, False),
        (N - N % 4, 4 * (N // 4), True),
        ((N + M) // 2, (N - M) // 2 + M, True),  # not of the same canonical form
        (None, N, None),
        (None, None, None),
    ],
)
def test_equality_is_three_valued(a: Dim, b: Dim, answer: bool | None) -> None:
    assert known_equal(a, b) is answer
    assert known_equal(b, a) is answer


@pytest.mark.parametrize(
    ("a", "b", "answer"),
    [
        (4, 3, True),
        (3, 4, False),
        (N, 0, True),
        (N, N, True),
        (N, N + 1, False),
        (N, 1, None),
        (N, M, None),
        (N * M, 0, True),
        (N, N // 2, True),
        (N, N // M, True),
        (N, N % M, True),
        (N, N % 4, True),
        (M - 1, N % M, True),
        (N, dim_min(M, N), True),
        (dim_max(M, N), N, True),
        (dim_max(M, N), dim_min(M, N), True),
        (dim_min(M, N), dim_max(M, N), None),
        (dim_min(M, N), dim_max(M, N) + 1, False),
        (M + N, dim_max(M, N), True),
        (dim_min(N, M) + 1, dim_min(N + 2, M), None),
        (None, 0, None),
        (0, None, None),
    ],
)
def test_order_is_three_valued(a: Dim, b: Dim, answer: bool | None) -> None:
    assert known_ge(a, b) is answer


def test_a_least_value_simplifies_what_depends_on_it() -> None:
    """The size of a convolution of stride 2, and how exporters write it."""
    h = symbol("h", low=1)
    assert dim_max(h - 1, 0) // 2 + 1 == (h + 1) // 2
    assert bounds(h - 1) == (0, None)
    assert known_ge(h, 1) is True
    assert str(h) == "h"
    assert h != symbol("h")
    assert known_equal(dim_max(N - 1, 0) // 2 + 1, (N + 1) // 2) is None  # they differ at 0
