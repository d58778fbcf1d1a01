"""Laws of symbolic dims, on random expressions: they compute what Python computes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sardonyx._src.ir.dims import (
    Dim,
    Expr,
    Known,
    bounds,
    ceil_div,
    dim_max,
    dim_min,
    evaluate,
    exact_div,
    from_param,
    known_equal,
    known_ge,
    parse,
    symbol,
)

Tree: TypeAlias = "int | str | tuple[str, Tree, Tree]"
OPS = ["+", "-", "*", "//", "%", "max", "min"]
NAMES = ["A", "B", "C"]
ODD_NAMES = ["A", "a b", "A+B", "", "'A'", "3", "\\", "max(A,B)"]
LAW = settings(derandomize=True, deadline=None, max_examples=200)

sizes = st.integers(0, 12)
values = st.fixed_dictionaries(dict.fromkeys(NAMES, sizes))


def trees(names: list[str] = NAMES, ops: list[str] = OPS) -> st.SearchStrategy[Tree]:
    leaves = st.one_of(st.sampled_from(names), st.sampled_from(names), st.integers(-9, 9))
    return st.recursive(leaves, lambda sub: st.tuples(st.sampled_from(ops), sub, sub), max_leaves=10)


def compute(op: str, a: int, b: int) -> int:
    """Evaluates an operator in plain Python."""
    table = {"+": a.__add__, "-": a.__sub__, "*": a.__mul__, "//": a.__floordiv__, "%": a.__mod__}
    if op in table:
        return table[op](b)
    return max(a, b) if op == "max" else min(a, b)


def plain(tree: Tree, assignment: dict[str, int]) -> int:
    """The tree's value in plain Python; ZeroDivisionError when a divisor is zero."""
    if isinstance(tree, int):
        return tree
    if isinstance(tree, str):
        return assignment[tree]
    op, a, b = tree
    return compute(op, plain(a, assignment), plain(b, assignment))


def build(tree: Tree, least: Mapping[str, int] | None = None) -> Known:
    """The tree as a dim.  least: the least values of symbols, 0 by default."""
    if isinstance(tree, int):
        return tree
    if isinstance(tree, str):
        return symbol(tree, low=(least or {}).get(tree, 0))
    op, left, right = tree
    a, b = build(left, least), build(right, least)
    if op in ("max", "min"):
        return dim_max(a, b) if op == "max" else dim_min(a, b)
    if op in ("//", "%"):
        assume(b != 0)
        return a // b if op == "//" else a % b
    return a + b if op == "+" else a - b if op == "-" else a * b


def value_or_reject(tree: Tree, assignment: dict[str, int]) -> int:
    try:
        return plain(tree, assignment)
    except ZeroDivisionError:
        assume(False)
        raise


def in_limits(*dims: Dim) -> None:
    """Rejects examples with values too large to write down, for which these laws are not known."""
    assume(not any("opaque" in str(dim) for dim in dims))


@LAW
@given(trees(), values)
def test_canonical_form_keeps_the_value(tree: Tree, assignment: dict[str, int]) -> None:
    expected = value_or_reject(tree, assignment)
    assert evaluate(build(tree), assignment) == expected


@LAW
@given(trees(), values, values)
def test_symbols_with_least_values_keep_the_value_from_these_on(
    tree: Tree, least: dict[str, int], above: dict[str, int]
) -> None:
    assignment = {name: least[name] + above[name] for name in NAMES}
    expected = value_or_reject(tree, assignment)
    dim = build(tree, least)
    assert evaluate(dim, assignment) == expected
    low, high = bounds(dim)
    assert (low is None or low <= expected) and (high is None or expected <= high)


@LAW
@given(trees(), values)
def test_the_text_means_the_same_to_python(tree: Tree, assignment: dict[str, int]) -> None:
    expected = value_or_reject(tree, assignment)
    assert eval(str(build(tree)), {**assignment, "max": max, "min": min}) == expected


@LAW
@given(trees())
def test_the_text_reads_back(tree: Tree) -> None:
    dim = build(tree)
    assert parse(str(dim)) == dim


@LAW
@given(trees(ODD_NAMES))
def test_the_text_reads_back_whatever_the_names(tree: Tree) -> None:
    dim = build(tree)
    if isinstance(dim, Expr):
        assert from_param(str(dim)) == dim
        assert parse(dim.text) == dim


@LAW
@given(st.one_of(st.text(alphabet="AB ab1+-*/%()',\\maxin", max_size=12), st.text(max_size=6)))
def test_a_param_keeps_its_text(text: str) -> None:
    assert str(from_param(text)) == text


@LAW
@given(st.lists(trees(), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_operands_may_be_shuffled(operands: list[Tree], random: object) -> None:
    dims = [build(tree) for tree in operands]
    shuffled = list(dims)
    getattr(random, "shuffle")(shuffled)  # noqa: B009  # hypothesis does not export the type
    in_limits(*dims, product(dims), product(shuffled), dim_max(*dims))
    assert total(dims) == total(shuffled)
    assert product(dims) == product(shuffled)
    assert dim_max(*dims) == dim_max(*shuffled)
    assert dim_min(*dims) == dim_min(*shuffled)


def total(dims: list[Known]) -> Known:
    result: Known = 0
    for dim in dims:
        result = result + dim
    return result


def product(dims: list[Known]) -> Known:
    result: Known = 1
    for dim in dims:
        result = result * dim
    return result


@LAW
@given(trees(ops=["+", "-", "*"]), trees(ops=["+", "-", "*"]), trees(ops=["+", "-", "*"]))
def test_polynomials_obey_the_laws_of_a_ring(x: Tree, y: Tree, z: Tree) -> None:
    a, b, c = build(x), build(y), build(z)
    in_limits(a, b, c, (a * b) * c, a * (b * c), a * (b + c))
    assert (a + b) + c == a + (b + c)
    assert (a * b) * c == a * (b * c)
    assert a * (b + c) == a * b + a * c
    assert a - a == 0


def linear(least: int) -> st.SearchStrategy[Known]:
    """Sums of symbols with coefficients from `least` on, and a number of either sign."""
    coefficients = st.lists(st.integers(least, 9), min_size=3, max_size=3)
    return st.builds(
        lambda cs, c: total([symbol(n) * k for n, k in zip(NAMES, cs, strict=True)]) + c, coefficients, sizes
    )


divisors = st.integers(1, 12)


@LAW
@given(linear(0), linear(0), divisors)
def test_multiples_of_the_divisor_are_taken_out(p: Known, q: Known, k: int) -> None:
    assert (p + k * q) // k == p // k + q
    assert p // -k == (-p) // k


@LAW
@given(linear(-9), linear(-9), divisors, divisors)
def test_divisions_of_linear_dims_are_canonical(p: Known, q: Known, j: int, k: int) -> None:
    assert (p // j) // k == p // (j * k)
    assert (j * p) // (j * k) == p // k
    assert (p + k * q) % k == p % k
    assert (p % (j * k)) % k == p % k
    assert known_equal((p + k * q) // k, p // k + q)


@LAW
@given(linear(0), divisors)
def test_quotient_and_remainder_are_known_to_make_up_the_dividend(p: Known, k: int) -> None:
    assert known_equal(k * (p // k) + p % k, p)


@LAW
@given(trees(), values)
def test_bounds_hold(tree: Tree, assignment: dict[str, int]) -> None:
    expected = value_or_reject(tree, assignment)
    low, high = bounds(build(tree))
    assert low is None or low <= expected
    assert high is None or expected <= high


@LAW
@given(trees(), trees(), values)
def test_answers_never_contradict_values(x: Tree, y: Tree, assignment: dict[str, int]) -> None:
    p, q = value_or_reject(x, assignment), value_or_reject(y, assignment)
    a, b = build(x), build(y)
    assert known_equal(a, b) in (None, p == q)
    assert known_ge(a, b) in (None, p >= q)


@LAW
@given(trees(), st.fixed_dictionaries(dict.fromkeys(NAMES, trees())), values)
def test_substitution_is_evaluation_of_the_parts(
    tree: Tree, mapping: dict[str, Tree], assignment: dict[str, int]
) -> None:
    inner = {name: value_or_reject(part, assignment) for name, part in mapping.items()}
    assume(all(value >= 0 for value in inner.values()))
    expected = value_or_reject(tree, inner)
    dim = build(tree)
    if isinstance(dim, Expr):
        parts = {name: build(part) for name, part in mapping.items()}
        assume(all(bounds(part)[0] is not None and known_ge(part, 0) for part in parts.values()))
        substituted = dim.substitute(parts)
        in_limits(substituted)
        assert evaluate(substituted, assignment) == expected


@LAW
@given(trees(), trees(), values)
def test_ceil_div_is_the_least_multiple_above(x: Tree, y: Tree, assignment: dict[str, int]) -> None:
    p, q = value_or_reject(x, assignment), value_or_reject(y, assignment)
    b = build(y)
    assume(q != 0 and b != 0)
    assert evaluate(ceil_div(build(x), b), assignment) == -(-p // q)


@LAW
@given(trees(), trees(), values)
def test_exact_div_undoes_a_product(x: Tree, y: Tree, assignment: dict[str, int]) -> None:
    p, q = value_or_reject(x, assignment), value_or_reject(y, assignment)
    a, b = build(x), build(y)
    assume(q != 0 and b != 0)
    in_limits(a * b)
    assert evaluate(exact_div(a * b, b), assignment) == p
