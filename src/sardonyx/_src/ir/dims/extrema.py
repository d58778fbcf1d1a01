"""Maximum and minimum in canonical form: flat, sorted, without arguments that another one makes superfluous."""

from __future__ import annotations

from typing import Literal, overload

from sardonyx._src.ir.dims.expr import Call, Dim, Expr, Known, call, lone_atom, opaque
from sardonyx._src.ir.dims.intervals import is_nonnegative

MAX_ARGS = 8  # each is compared with each


@overload
def dim_max(first: Known, /, *rest: Known) -> Known: ...
@overload
def dim_max(first: Dim, /, *rest: Dim) -> Dim: ...
def dim_max(first: Dim, /, *rest: Dim) -> Dim:
    """The largest of one or more dims; None when one of them is."""
    known = [dim for dim in (first, *rest) if dim is not None]
    return extreme("max", known) if len(known) > len(rest) else None


@overload
def dim_min(first: Known, /, *rest: Known) -> Known: ...
@overload
def dim_min(first: Dim, /, *rest: Dim) -> Dim: ...
def dim_min(first: Dim, /, *rest: Dim) -> Dim:
    """The smallest of one or more dims; None when one of them is."""
    known = [dim for dim in (first, *rest) if dim is not None]
    return extreme("min", known) if len(known) > len(rest) else None


def extreme(op: Literal["max", "min"], dims: list[Known]) -> Known:
    flat = [arg for dim in dims for arg in arguments(op, dim)]
    numbers = [arg for arg in flat if isinstance(arg, int)]
    exprs = {arg for arg in flat if isinstance(arg, Expr)}
    args: list[Known] = [*sorted(exprs, key=lambda expr: expr.text)]
    if numbers:
        args.append(max(numbers) if op == "max" else min(numbers))
    if len(args) > MAX_ARGS:
        return opaque(op, *args)
    kept: list[Known] = []
    for arg in args:
        if not any(absorbs(op, other, arg) for other in kept):
            kept = [other for other in kept if not absorbs(op, arg, other)] + [arg]
    return kept[0] if len(kept) == 1 else call(op, *kept)


def arguments(op: str, dim: Known) -> tuple[Known, ...]:
    """The arguments of a call of the same operation, or the dim itself."""
    atom = lone_atom(dim)
    return atom.args if isinstance(atom, Call) and atom.op == op else (dim,)


def absorbs(op: str, a: Known, b: Known) -> bool:
    """Whether a is known to make b superfluous: it is never on the wrong side of b, or b is min(a, ...) in a max."""
    atom = lone_atom(b)
    if isinstance(atom, Call) and atom.op in ("max", "min") and a in atom.args:
        return True
    return is_nonnegative(a - b if op == "max" else b - a)
