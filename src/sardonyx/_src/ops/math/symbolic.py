"""Value facets of elementwise operators: elements that inference knows before a model runs.

Such an element is a number, an expression of dims such as N + 1, or None, which is unknown.  Sizes are integers, but some
models calculate with them in floats.  Elements of both kinds are followed as long as they are whole numbers, or in
some operators ratios (`math/ratios.py`); any other element becomes unknown.  If no element of the inputs is an
expression, inference runs the kernel instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.dims import Known as KnownDim
from sardonyx._src.ops.api import ValueFacet
from sardonyx._src.ops.inference import Inference, Known
from sardonyx._src.ops.math.legacy_broadcast import broadcastable_shape
from sardonyx._src.ops.math.ratios import Element, Ratio, ratio_of
from sardonyx._src.ops.tensor.elements import MAX_KNOWN_ELEMENTS, elements

if TYPE_CHECKING:
    from numpy.typing import NDArray

Rule: TypeAlias = Callable[..., "Element | None"]
AnyElement = TypeVar("AnyElement", bound="Element | None")
# The element types in which models compute sizes.
SYMBOLIC_INTEGERS = (DataType.INT64, DataType.INT32)
SYMBOLIC_NUMBERS = (*SYMBOLIC_INTEGERS, DataType.FLOAT, DataType.DOUBLE)


def arithmetic(rule: Rule, *, takes_ratios: bool = False) -> ValueFacet:
    """The facet that computes an element of the output by `rule` from an element of each input.

    rule: a function of known elements, which may be ratios only with `takes_ratios`.  An unknown one makes the result
    unknown, without a call.
    """

    def value(inference: Inference) -> Known | None:
        dtype = inference.dtype(0)
        if dtype not in SYMBOLIC_NUMBERS:
            return None
        return map_elements(
            inference,
            lambda *dims: drop_overflow(rule(*dims), dtype) if None not in dims else None,
            takes_ratios=takes_ratios,
        )

    return value


def relation(rule: Callable[[KnownDim, KnownDim], Dim]) -> ValueFacet:
    """The facet of a comparison; `rule` returns a bool, or an expression that is 0 or 1."""

    def value(inference: Inference) -> Known | None:
        if inference.dtype(0) not in (*SYMBOLIC_NUMBERS, DataType.BOOL):
            return None
        return map_elements(inference, lambda a, b: None if a is None or b is None else rule(a, b))

    return value


def logic(rule: Rule) -> ValueFacet:
    """The facet of a logic operator; `rule` is a function of True, False or None (unknown) for each input."""
    return lambda inference: map_elements(
        inference, lambda *truths: rule(*(t if isinstance(t, bool) else None for t in truths))
    )


def map_elements(inference: Inference, rule: Rule, *, takes_ratios: bool = False) -> Known | None:
    """`rule` applied to the elements of all inputs, broadcast to one shape; None if an input is not known at all."""
    arrays = operands(inference)
    return None if arrays is None else each(rule, arrays, known_number if takes_ratios else whole_number)


def operands(inference: Inference) -> list[Known] | None:
    """The elements of all inputs if they broadcast to a small shape and some are symbolic; else None."""
    values = [elements(inference, i) for i in range(len(inference.given))]
    known = [x for x in values if x is not None]
    if len(known) < len(values) or all(x.dtype != np.object_ for x in known):
        return None
    if "broadcast" in inference.attributes:
        axis = inference.attributes.get("axis")
        assert axis is None or isinstance(axis, int), f"axis of {inference.op_type} is {axis!r}"
        shape = broadcastable_shape(known[0].shape, known[1].shape, axis, inference.integer("broadcast"))
        if shape is None:
            return None
        known[1] = known[1].reshape(shape)
    return known if is_small(known) else None


def is_small(arrays: Sequence[Known]) -> bool:
    """Whether the arrays broadcast to a shape of at most MAX_KNOWN_ELEMENTS elements."""
    try:
        shape = np.broadcast_shapes(*(x.shape for x in arrays))
    except ValueError:
        return False
    return int(np.prod(shape, dtype=np.float64)) <= MAX_KNOWN_ELEMENTS


def each(
    rule: Rule, arrays: Sequence[Known], known: Callable[[Element | float | None], Element | None]
) -> NDArray[np.object_]:
    """`rule` applied to the elements of arrays that broadcast to one shape, after `known` has been applied to each."""
    columns = np.broadcast_arrays(*arrays)
    flat = [[known(e) for e in column.reshape(-1).tolist()] for column in columns]
    result = np.empty(len(flat[0]), np.object_)
    result[:] = [rule(*row) for row in zip(*flat, strict=True)]
    return result.reshape(columns[0].shape)


def whole_number(element: Element | float | None) -> Dim:
    """The element; None for a float or ratio that is no whole number."""
    if isinstance(element, float):
        return int(element) if element.is_integer() else None
    return None if isinstance(element, Ratio) else element


def known_number(element: Element | float | None) -> Element | None:
    """The element, where a float becomes a whole number or a ratio; None for a float that is neither."""
    return ratio_of(element) if isinstance(element, float) else element


def drop_overflow(element: AnyElement, dtype: DataType) -> AnyElement | None:
    """The element; None for an integer out of the range of its type, which would wrap around in a run."""
    if isinstance(element, int) and dtype in SYMBOLIC_INTEGERS and not fits(element, dtype):
        return None
    return element


def fits(number: int, dtype: DataType) -> bool:
    return -(1 << (dtype.bits - 1)) <= number < 1 << (dtype.bits - 1)
