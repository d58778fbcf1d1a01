"""Execution of subgraphs as branches and loop bodies, and accumulation of scan outputs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Graph, TensorType, Type, Value
from sardonyx._src.ops.api import (
    ARRAY_OVERHEAD,
    GraphCall,
    RunContext,
    RuntimeValue,
    check_result_bytes,
    check_run_bytes,
)


def run_body(
    context: RunContext, graph: Graph, inputs: Sequence[RuntimeValue], outputs: int
) -> list[RuntimeValue]:
    """The results of one call of a subgraph; raises EvaluationError if its inputs or outputs do not match."""
    return bind_body(context, graph, len(inputs), outputs)(inputs)


def bind_body(context: RunContext, graph: Graph, inputs: int, outputs: int) -> GraphCall:
    """A subgraph for many calls with this number of inputs; raises EvaluationError if its inputs or outputs do not match."""
    formals = graph.inputs
    missing = [v.name for v in formals[inputs:] if v.initializer is None]
    if inputs > len(formals) or missing:
        raise EvaluationError(f"subgraph {graph.name!r} must be given {len(formals)} inputs; got {inputs}")
    if len(graph.outputs) < outputs:
        raise EvaluationError(
            f"subgraph {graph.name!r} must have {outputs} outputs; got {len(graph.outputs)}"
        )
    return context.bind(graph)


def head_shapes(body: object) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shapes of the iteration number and the condition in a Loop's body: [], or [1] if declared so."""
    declared = [value.type for value in body.inputs[:2]] if isinstance(body, Graph) else []
    shapes = [d.shape if isinstance(d, TensorType) else None for d in (*declared, None, None)]
    number, condition = ((1,) if shape is not None and len(shape) == 1 else () for shape in shapes[:2])
    return number, condition


def head_types(body: object) -> list[Type | None]:
    """The types of the iteration number and the condition."""
    number, condition = head_shapes(body)
    return [TensorType(DataType.INT64, number), TensorType(DataType.BOOL, condition)]


class ScanOutput:
    """Accumulates the elements that iterations yield for one scan output, and stacks them along a new axis."""

    __slots__ = ("context", "elements", "type", "value")

    def __init__(self, context: RunContext, value: Value, type: Type | None = None) -> None:
        """value: the output of the body; type: the type of an element, needed only if there is no iteration."""
        self.context = context
        self.value = value
        self.type = type
        self.elements: list[Array] = []

    def add(self, element: RuntimeValue) -> None:
        """Append an element; raises EvaluationError if its type or shape differs from those of earlier elements."""
        if not isinstance(element, np.ndarray):
            raise EvaluationError(
                f"scan output {self.value.name!r} must be a tensor; got {type(element).__name__}"
            )
        if self.elements:
            first = self.elements[0]
            if element.shape != first.shape or element.dtype != first.dtype:
                actual, expected = (f"{x.dtype}{list(x.shape)}" for x in (element, first))
                what = f"scan output {self.value.name!r} must be {expected} in every iteration"
                raise EvaluationError(f"{what}; got {actual} in iteration {len(self.elements)}")
        shape = (len(self.elements) + 1, *element.shape)
        what = f"scan output {self.value.name!r}"
        check_result_bytes(self.context, shape, element.dtype, what)
        size = shape[0] * ARRAY_OVERHEAD
        check_run_bytes(self.context, size, f"the arrays of {what} would take {size} bytes")
        self.elements.append(element)

    def stack(self, axis: int = 0, length: int | None = None) -> Array:
        """All elements along the new axis `axis`, padded with zeros (or empty strings) to `length`.

        Without elements, the element type and the other sizes are those of `type`; a size that is not known is 0.
        Raises EvaluationError if the type is not known.
        """
        count = len(self.elements)
        length = count if length is None else length
        if not count:
            return self.stack_nothing(axis, length)
        first = self.elements[0]
        if not -first.ndim - 1 <= axis <= first.ndim:
            what = f"axis {axis} of scan output {self.value.name!r} lies outside of rank {first.ndim + 1}"
            raise EvaluationError(what)
        if length == count:
            return np.stack(self.elements, axis)
        check_result_bytes(
            self.context, (length, *first.shape), first.dtype, f"scan output {self.value.name!r}"
        )
        filled = blank((length, *first.shape), first.dtype)
        filled[:count] = self.elements
        return np.moveaxis(filled, 0, axis)

    def stack_nothing(self, axis: int, length: int) -> Array:
        type_ = self.type
        if not isinstance(type_, TensorType):
            what = f"scan output {self.value.name!r} without elements must be of a known tensor type; got {type_}"
            raise EvaluationError(f"{what}; declare the type of the body's output")
        dims = [d if isinstance(d, int) else 0 for d in type_.shape or ()]
        dims.insert(axis % (len(dims) + 1), length)
        check_result_bytes(self.context, dims, type_.dtype.numpy, f"scan output {self.value.name!r}")
        return blank(tuple(dims), type_.dtype.numpy)


def set_element_types(
    context: RunContext,
    body: Graph,
    scans: Sequence[ScanOutput | None],
    arguments: Sequence[Type | None],
) -> None:
    """Set the `type` of each scan output to that of the element that an iteration with these arguments would give."""
    if any(scan is not None for scan in scans):
        types = dict(zip(body.outputs, context.output_types(body, arguments), strict=True))
        for scan in scans:
            if scan is not None:
                scan.type = types[scan.value]


def blank(shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Array:
    """An array of zeros or of empty strings."""
    return np.full(shape, "", object) if dtype.kind == "O" else np.zeros(shape, dtype)
