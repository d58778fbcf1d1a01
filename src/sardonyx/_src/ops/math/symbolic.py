"""Elementwise operators on elements that are known before a model runs: numbers, expressions and unknowns.

Sizes are integers, but some models calculate with them in floats.  Both are followed here as long as every element
is a whole number; what is not becomes unknown.  Where no element is an expression the kernel itself is run instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ops.api import ValueFacet
from sardonyx._src.ops.inference import Inference, Known
from sardonyx._src.ops.math.limited_broadcast import fitted
from sardonyx._src.ops.tensor.elements import LIMIT, elements

Rule: TypeAlias = Callable[..., Dim]
INTEGERS = (DataType.INT64, DataType.INT32)
NUMBERS = (*INTEGERS, DataType.FLOAT, DataType.DOUBLE)


def arithmetic(rule: Rule) -> ValueFacet:
    """The elements of the output by `rule`, a function of one known dim for each input."""

    def value(t: Inference) -> Known | None:
        dtype = t.dtype(0)
        if dtype not in NUMBERS:
            return None
        return mapped(t, lambda *dims: fitting(rule(*dims), dtype) if None not in dims else None)

    return value


def relation(rule: Callable[[Dim, Dim], bool | None]) -> ValueFacet:
    """The truth of each element where `rule` knows it."""

    def value(t: Inference) -> Known | None:
        if t.dtype(0) not in (*NUMBERS, DataType.BOOL):
            return None
        return mapped(t, lambda a, b: None if a is None or b is None else rule(a, b))

    return value


def logic(rule: Rule) -> ValueFacet:
    """The truth of each element by `rule`, a function of True, False or None for each input."""
    return lambda t: mapped(t, rule)


def mapped(t: Inference, rule: Rule) -> Known | None:
    """`rule` on the elements of all inputs, stretched to one shape; None where those are not known."""
    found = operands(t)
    return None if found is None else each(rule, found)


def operands(t: Inference) -> list[Known] | None:
    """The elements of all inputs in shapes that broadcast to a small one, unless there is nothing symbolic in them."""
    found = [elements(t, i) for i in range(len(t.given))]
    known = [x for x in found if x is not None]
    if len(known) < len(found) or all(x.dtype != np.object_ for x in known):
        return None
    if "broadcast" in t.attributes:
        axis = t.attributes.get("axis")
        assert axis is None or isinstance(axis, int), f"axis of {t.op_type} is {axis!r}"
        shape = fitted(known[0].shape, known[1].shape, axis, t.integer("broadcast"))
        if shape is None:
            return None
        known[1] = known[1].reshape(shape)
    return known if is_small(known) else None


def is_small(arrays: Sequence[Known]) -> bool:
    """Whether arrays broadcast to a shape of at most LIMIT elements."""
    try:
        shape = np.broadcast_shapes(*(x.shape for x in arrays))
    except ValueError:
        return False
    return int(np.prod(shape, dtype=np.float64)) <= LIMIT


def each(rule: Rule, arrays: Sequence[Known]) -> NDArray[np.object_]:
    """`rule` on the elements of arrays that broadcast to one shape."""
    columns = np.broadcast_arrays(*arrays)
    flat = [[whole(e) for e in column.reshape(-1).tolist()] for column in columns]
    result = np.empty(len(flat[0]), np.object_)
    result[:] = [rule(*row) for row in zip(*flat, strict=True)]
    return result.reshape(columns[0].shape)


def whole(element: Dim | float) -> Dim:
    """The element, None for a float that is no whole number."""
    if isinstance(element, float):
        return int(element) if element.is_integer() else None
    return element


def fitting(element: Dim, dtype: DataType) -> Dim:
    """The element, None for an integer beyond its type, which would wrap around."""
    if isinstance(element, int) and dtype in INTEGERS and not fits(element, dtype):
        return None
    return element


def fits(number: int, dtype: DataType) -> bool:
    return -(1 << (dtype.bits - 1)) <= number < 1 << (dtype.bits - 1)
