"""Arithmetic of dims that may be unknown (None): the result is None if an operand is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import overload

from sardonyx._src.ir.dims.expr import Dim, Known


def dim_add(first: Dim, /, *rest: Dim) -> Dim:
    """The sum of one or more dims; None when one of them is."""
    total = first
    for dim in rest:
        total = None if total is None or dim is None else total + dim
    return total


def dim_mul(first: Dim, /, *rest: Dim) -> Dim:
    """The product of one or more dims; None when one of them is, even where another is 0."""
    total = first
    for dim in rest:
        total = None if total is None or dim is None else total * dim
    return total


@overload
def dim_product(dims: Iterable[Known]) -> Known: ...
@overload
def dim_product(dims: Iterable[Dim]) -> Dim: ...
def dim_product(dims: Iterable[Dim]) -> Dim:
    """The product of any number of dims, 1 for none; None when one of them is, even where another is 0."""
    return dim_mul(1, *dims)


def dim_sub(a: Dim, b: Dim) -> Dim:
    """a - b, or None when either is."""
    return None if a is None or b is None else a - b


def dim_floordiv(a: Dim, b: Dim) -> Dim:
    """a // b, or None when either is; ZeroDivisionError for the int 0."""
    return None if a is None or b is None else a // b


def dim_mod(a: Dim, b: Dim) -> Dim:
    """a % b, or None when either is; ZeroDivisionError for the int 0."""
    return None if a is None or b is None else a % b
