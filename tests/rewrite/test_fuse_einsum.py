"""fuse-einsum."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "fuse-einsum"


@pytest.mark.parametrize(
    ("equation", "x", "w", "after"),
    [
        ("ij,jk->ik", "2,3", "3,4", "MatMul(x, w)"),
        ("b h i j, b h j k -> b h i k", "N,2,3,4", "N,2,4,3", "MatMul(x, w)"),
        ("bij,jk->bik", "2,3,4", "4,5", "MatMul(x, w)"),
        ("jk,bij->bik", "4,5", "2,3,4", "MatMul(w, x)"),
        ("ij,ij->ij", "2,3", "2,3", "Mul(x, w)"),
    ],
)
def test_products_become_operators(equation: str, x: str, w: str, after: str) -> None:
    assert_becomes(
        f'g (float[{x}] x, float[{w}] w) => (float[] y) {{ y = Einsum<equation = "{equation}">(x, w) }}',
        f"g (float[{x}] x, float[{w}] w) => (float[] y) {{ y = {after} }}",
        PASS,
    )


def test_an_order_of_axes_becomes_a_transpose() -> None:
    assert_becomes(
        'g (float[2,3,4] x) => (float[] y) { y = Einsum<equation = "ijk->kij">(x) }',
        "g (float[2,3,4] x) => (float[] y) { y = Transpose<perm = [2, 0, 1]>(x) }",
        PASS,
    )


@pytest.mark.parametrize(
    ("equation", "x", "w"),
    [
        ("bhid,bhjd->bhij", "2,2,3,4", "2,2,5,4"),
        ("bij,bjk->bki", "2,3,3", "2,3,3"),
        ("bij,bjk->ik", "2,3,3", "2,3,3"),
        ("ij,jk->ik", "2,N", "M,4"),
        ("...ij,...jk->...ik", "2,3,4", "2,4,5"),
        ("ij,jk", "2,3", "3,4"),
        ("ij,ij->ij", "1,3", "2,3"),
    ],
)
def test_other_equations_and_broadcastable_sizes_are_kept(equation: str, x: str, w: str) -> None:
    assert_unchanged(
        f'g (float[{x}] x, float[{w}] w) => (float[] y) {{ y = Einsum<equation = "{equation}">(x, w) }}', PASS
    )


def test_small_integers_are_kept() -> None:
    assert_unchanged(
        'g (int16[2,2] x, int16[2,2] w) => (int16[] y) { y = Einsum<equation = "ij,jk->ik">(x, w) }', PASS
    )


def test_a_single_element_is_kept() -> None:
    assert_unchanged('g (float x) => (float[] y) { y = Einsum<equation = "->">(x) }', PASS)
