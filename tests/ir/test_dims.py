"""Arithmetic of symbolic dims: canonical forms, division, extrema, values, limits."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from sardonyx._src.ir.dims import (
    Dim,
    Expr,
    Known,
    bounds,
    ceil_div,
    dim_add,
    dim_floordiv,
    dim_max,
    dim_min,
    dim_mod,
    dim_mul,
    dim_sub,
    evaluate,
    exact_div,
    known_equal,
    parse,
    symbol,
)

D, H, K, M, N = (symbol(name) for name in "DHKMN")


def test_sums_and_products_do_not_depend_on_the_order() -> None:
    assert N + M + 1 == 1 + M + N
    assert N * M * 2 == M * (2 * N)
    assert (N + M) * (N - M) == N * N - M * M
    assert hash(N + M) == hash(M + N)
    assert N + M != N + D


@pytest.mark.parametrize(
    ("constant", "value"),
    [
        (N - N, 0),
        (N * 0, 0),
        (3 - (N + 1) + N, 2),
        (N % 1, 0),
        ((4 * N) % 2, 0),
        ((2 * N + 1) % 2, 1),
        ((N % 4) // 4, 0),
        ((N % 4 + 9) // 4 - (N % 4 + 1) // 4, 2),
        (N // (N + 1), 0),
        (0 // (N + 1), 0),
        (((N % 3) % M) // 3, 0),
        (dim_max(3, 5), 5),
        (dim_min(N, 0), 0),
        (dim_min(N + 4, 7, 2), 2),
    ],
)
def test_a_constant_result_is_an_int(constant: Known, value: int) -> None:
    assert type(constant) is int
    assert constant == value


@pytest.mark.parametrize(
    ("quotient", "text"),
    [
        ((2 * N) // 2, "N"),
        ((2 * N + 1) // 2, "N"),
        ((4 * N + 6) // 2, "2*N+3"),
        ((N // 2) // 2, "N//4"),
        ((N + 4) // 2, "N//2+2"),
        ((H - 1) // 2 + 1, "(H-1)//2+1"),
        ((H + 1) // 2, "(H-1)//2+1"),
        (((H - 1) // 2) // 2 + 1, "(H-1)//4+1"),
        ((3 * N) // 2, "N+N//2"),
        ((6 * N + 3) // 4, "N+(N-1)//2+1"),
        ((M + N // 3) // 2, "(3*M+N)//6"),
        (N // -2, "-((N-1)//2)-1"),
        ((N * M) // M, "M*N//M"),
        ((N * M + N) // (M + 1), "N"),
        ((4 * N) // (6 * M), "2*N//(3*M)"),
        ((-N) // (-M), "N//M"),
        (7 // N, "7//N"),
    ],
)
def test_floor_division_takes_out_what_divides(quotient: Known, text: str) -> None:
    assert str(quotient) == text


@pytest.mark.parametrize(
    ("remainder", "text"),
    [
        (N % 4, "N%4"),
        ((N + 9) % 4, "(N+1)%4"),
        ((5 * N) % 4, "N%4"),
        ((3 * N) % 4, "-N%4"),
        ((2 * N + 1) % 4, "2*(N%2)+1"),
        ((N % 8) % 4, "N%4"),
        (((N % 4 + M) % 8) % 4, "(M+N)%4"),
        (((N % 4) + 4) % 8, "N%4+4"),
        (N % -4, "-(-N%4)"),
        ((2 * N) % (2 * M), "2*(N%M)"),
        ((N % M) % M, "N%M"),
        (N % (N + 1), "N"),
        (N % (-M), "-(-N%M)"),
        (7 % N, "7%N"),
    ],
)
def test_mod_keeps_the_least_residues(remainder: Known, text: str) -> None:
    assert str(remainder) == text


def test_of_two_inner_divisions_the_same_one_is_merged_in_any_order() -> None:
    assert str((M // 2 + N // 3) // 2) == "(M+2*(N//3))//4"
    assert (N // 3 + M // 2) // 2 == (M // 2 + N // 3) // 2


def test_a_divisor_that_may_be_zero_is_not_cancelled() -> None:
    assert isinstance(M // M, Expr)
    assert isinstance(M % M, Expr)
    assert isinstance(0 // M, Expr)
    assert (M + 1) // (M + 1) == 1


@pytest.mark.parametrize(
    "divide", [lambda: N // 0, lambda: N % 0, lambda: ceil_div(N, 0), lambda: exact_div(N, 0)]
)
def test_the_number_zero_does_not_divide(divide: object) -> None:
    assert callable(divide)
    with pytest.raises(ZeroDivisionError):
        divide()


def test_ceil_div_rounds_up() -> None:
    assert [ceil_div(7, 2), ceil_div(8, 2), ceil_div(-7, 2), ceil_div(7, -2)] == [4, 4, -3, -3]
    assert ceil_div(N, 4) == (N + 3) // 4 == -((-N) // 4)
    assert str(ceil_div(N, M)) == "(M+N-1)//M"
    assert evaluate(ceil_div(N, M - 5), {"N": 7, "M": 3}) == -3


def test_exact_div_cancels() -> None:
    assert exact_div(N * D * 4, D) == 4 * N
    assert exact_div(N * N - M * M, N - M) == N + M
    assert exact_div(6 * N, -3) == -2 * N
    assert str(exact_div(6 * N * D, 4 * D * M)) == "3*N//(2*M)"
    assert exact_div(N, M) == N // M
    assert exact_div(0, N) == 0
    assert exact_div(6, 3) == 2
    assert str(exact_div(N * M + M, M * N * D + M * K)) == "(N+1)//(D*N+K)"


def test_exact_div_refuses_numbers_with_a_remainder() -> None:
    with pytest.raises(ValueError, match="7 is not a multiple of 2"):
        exact_div(7, 2)


@pytest.mark.parametrize(
    ("extremum", "text"),
    [
        (dim_max(N), "N"),
        (dim_max(N, M), "max(M,N)"),
        (dim_max(N, N + 2), "N+2"),
        (dim_max(N, 0), "N"),
        (dim_max(N, 1), "max(N,1)"),
        (dim_max(dim_max(N, 3), M, 5, N), "max(M,N,5)"),
        (dim_max(N, dim_min(N, M)), "N"),
        (dim_max(dim_min(N, M), N), "N"),
        (dim_min(dim_min(N, 3), M, 5), "min(M,N,3)"),
        (dim_min(N, N + 2), "N"),
        (dim_min(N, dim_max(M, N)), "N"),
        (dim_min(dim_max(N - 2, 0), M), "min(M,max(N-2,0))"),
    ],
)
def test_extrema_are_flat_and_without_superfluous_arguments(extremum: Known, text: str) -> None:
    assert str(extremum) == text


def test_symbols_are_those_that_remain() -> None:
    e = N + dim_max(D, H // K) * M - N
    assert isinstance(e, Expr)
    assert e.symbols() == {"D", "H", "K", "M"}


@pytest.mark.parametrize(
    ("mapping", "expected"),
    [
        ({}, (N + 1) // M),
        ({"N": 7}, 8 // M),
        ({"M": 2}, (N + 1) // 2),
        ({"N": 7, "M": 2}, 4),
        ({"N": M, "M": N}, (M + 1) // N),
        ({"N": 2 * M * D + D - 1, "M": 2 * M + 1}, D),
        ({"M": 0}, None),
        ({"N": None}, None),
        ({"D": None}, (N + 1) // M),
    ],
)
def test_substitution_is_simultaneous(mapping: dict[str, Dim], expected: Dim) -> None:
    e = (N + 1) // M
    assert isinstance(e, Expr)
    assert e.substitute(mapping) == expected


def test_evaluation_needs_every_symbol_and_a_divisor() -> None:
    e = (N + 1) // M
    assert evaluate(e, {"N": 9, "M": 3, "D": 1}) == 3
    assert evaluate(e, {"N": 9}) is None
    assert evaluate(e, {"N": 9, "M": 0}) is None
    assert evaluate(5, {}) == 5
    assert evaluate(None, {"N": 1}) is None


def test_evaluation_takes_numpy_integers_as_numbers() -> None:
    huge = {"N": np.int64(2**62)}
    assert evaluate(8 * N, {name: int(value) for name, value in huge.items()}) == 2**65
    assert evaluate(8 * N, huge) == 2**65  # type: ignore[arg-type]


def test_none_makes_none() -> None:
    assert dim_add(N, None, 1) is None
    assert dim_sub(None, N) is None
    assert dim_mul(0, None) is None
    assert dim_floordiv(N, None) is None
    assert dim_mod(None, 2) is None
    assert dim_max(N, None) is None
    assert dim_min(None) is None
    assert ceil_div(None, 2) is None
    assert exact_div(N, None) is None


def test_functions_of_known_dims_are_the_operators() -> None:
    assert dim_add(N, 2, M) == N + M + 2
    assert dim_sub(N, 2) == N - 2
    assert dim_mul(N, 2, M) == 2 * M * N
    assert dim_floordiv(N, 2) == N // 2
    assert dim_mod(N, 2) == N % 2
    assert dim_add(2, 3) == 5


def test_other_types_are_refused() -> None:
    for other in (1.5, "M", None, np.int64(1), np.ones(2)):
        with pytest.raises(TypeError):
            N + other  # type: ignore[operator]
        with pytest.raises(TypeError):
            other // N  # type: ignore[operator]
    assert N != "N"
    assert N != 1


def test_an_expression_has_no_truth_value() -> None:
    with pytest.raises(TypeError, match="may be zero"):
        bool(N)


def test_an_expression_has_no_attributes_to_set() -> None:
    with pytest.raises(AttributeError):
        N.name = "M"  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        N.terms = {}  # type: ignore[misc]


def test_copies_and_pickles_are_equal() -> None:
    e = N // 2 + M
    hash(e)
    assert copy.deepcopy(e) == e
    assert pickle.loads(pickle.dumps(e)) == e


def test_a_polynomial_of_64_terms_is_exact_and_one_of_65_is_opaque() -> None:
    names = [symbol(f"s{i}") for i in range(65)]
    kept = dim_add(*names[:64])
    assert isinstance(kept, Expr)
    assert len(kept.symbols()) == 64
    assert_opaque(dim_add(*names))


def test_what_grows_without_end_becomes_opaque() -> None:
    product, nested, doubled, number, power = (symbol("s") for _ in range(5))
    for i in range(20):
        product = product * (symbol(f"a{i}") + symbol(f"b{i}"))  # type: ignore[assignment]
        nested = (nested + symbol(f"a{i}")) // symbol(f"b{i}")  # type: ignore[assignment]
        doubled = doubled // M + doubled % M  # type: ignore[assignment]
        number = number * 2**1000  # type: ignore[assignment]
        power = power * power  # type: ignore[assignment]
    for e in (product, nested, doubled, number, power):
        assert e.size <= 256
        assert e.depth <= 16
        assert "opaque('" in str(e)
        assert parse(str(e)) == e
    assert_opaque(dim_max(*(symbol(f"a{i}") for i in range(9))))


def assert_opaque(e: Dim) -> None:
    assert isinstance(e, Expr)
    assert str(e).startswith("opaque('")
    assert e - e == 0
    assert parse(str(e)) == e
    assert e.symbols() == frozenset()
    assert e.substitute({"s0": 1}) is None
    assert evaluate(e, {f"s{i}": 1 for i in range(65)}) is None
    assert bounds(e) == (None, None)
    assert known_equal(e, N) is None


def test_opaque_values_of_equal_operations_are_equal() -> None:
    a = dim_add(*(symbol(f"s{i}") for i in range(60)))
    b = dim_add(*(symbol(f"t{i}") for i in range(60)))
    assert a is not None
    assert b is not None
    assert a + b == b + a
    assert a + b != a - b
    assert a * b == b * a
    assert a * b != a + b
