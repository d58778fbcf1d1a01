"""Maximum and minimum in canonical form: flat, sorted, without redundant arguments."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Literal, overload

from sardonyx._src.ir.dims.atoms import DimCall, lone_atom
from sardonyx._src.ir.dims.intervals import MEMO_ENTRIES, is_nonnegative
from sardonyx._src.ir.dims.polynomials import call, opaque

if TYPE_CHECKING:  # expr imports this module
    from sardonyx._src.ir.dims.expr import Dim, Known

MAX_ARGS = 8  # most arguments of a max or min, since each pair is compared; one of more is `opaque`, equal only to itself


@overload
def dim_max(first: Known, /, *rest: Known) -> Known: ...
@overload
def dim_max(first: Dim, /, *rest: Dim) -> Dim: ...
def dim_max(first: Dim, /, *rest: Dim) -> Dim:
    """The largest of one or more dims; None when one of them is."""
    known = [dim for dim in (first, *rest) if dim is not None]
    return extreme("max", tuple(known)) if len(known) == 1 + len(rest) else None


@overload
def dim_min(first: Known, /, *rest: Known) -> Known: ...
@overload
def dim_min(first: Dim, /, *rest: Dim) -> Dim: ...
def dim_min(first: Dim, /, *rest: Dim) -> Dim:
    """The smallest of one or more dims; None when one of them is."""
    known = [dim for dim in (first, *rest) if dim is not None]
    return extreme("min", tuple(known)) if len(known) == 1 + len(rest) else None


@lru_cache(maxsize=MEMO_ENTRIES, typed=True)  # the layers of a model have few different sizes
def extreme(op: Literal["max", "min"], dims: tuple[Known, ...]) -> Known:
    """The maximum or minimum of dims, in canonical form."""
    flat = [arg for dim in dims for arg in arguments(op, dim)]
    numbers = [arg for arg in flat if isinstance(arg, int)]
    exprs = {arg for arg in flat if not isinstance(arg, int)}
    args: list[Known] = [*sorted(exprs, key=lambda expr: expr.text)]
    if numbers:
        args.append(max(numbers) if op == "max" else min(numbers))
    if len(args) > MAX_ARGS:
        return opaque(op, *args)
    candidates: list[Known] = []
    for arg in args:
        if not any(absorbs(op, other, arg) for other in candidates):
            candidates = [other for other in candidates if not absorbs(op, arg, other)] + [arg]
    return candidates[0] if len(candidates) == 1 else call(op, *candidates)


def arguments(op: str, dim: Known) -> tuple[Known, ...]:
    """The arguments of a call of the same operation, or the dim itself."""
    atom = lone_atom(dim)
    return atom.args if isinstance(atom, DimCall) and atom.op == op else (dim,)


def absorbs(op: str, a: Known, b: Known) -> bool:
    """Whether a makes b redundant in a max or min.

    In a max it does if a >= b is known, in a min if a <= b is known; in both if b is a max or min with the argument a:
    max(a, min(a, x)) is a, and an argument max(a, x) was replaced by its arguments before.
    """
    atom = lone_atom(b)
    if isinstance(atom, DimCall) and atom.op in ("max", "min") and a in atom.args:
        return True
    return is_nonnegative(a - b if op == "max" else b - a)
