"""Subgraphs run as the branch or the body of an operator, and what their iterations leave behind."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.graph import Graph, Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType, Type
from sardonyx._src.ops.api import Call, RuntimeValue, claim


def run_body(call: Call, graph: Graph, inputs: Sequence[RuntimeValue], outputs: int) -> list[RuntimeValue]:
    """The results of a subgraph; raises EvaluationError when it does not take `inputs` or give `outputs` values."""
    formals = graph.inputs
    missing = [v.name for v in formals[len(inputs) :] if v.initializer is None]
    if len(inputs) > len(formals) or missing:
        raise EvaluationError(
            f"subgraph {graph.name!r} takes {len(formals)} inputs, {len(inputs)} are given to it"
        )
    if len(graph.outputs) < outputs:
        raise EvaluationError(
            f"subgraph {graph.name!r} has {len(graph.outputs)} outputs, {outputs} are wanted"
        )
    return call.run(graph, inputs)


def head_shapes(body: object) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shapes in which a Loop's body takes the iteration number and the condition: [], or [1] where it says so."""
    declared = [value.type for value in body.inputs[:2]] if isinstance(body, Graph) else []
    shapes = [d.shape if isinstance(d, TensorType) else None for d in (*declared, None, None)]
    number, condition = ((1,) if shape is not None and len(shape) == 1 else () for shape in shapes[:2])
    return number, condition


def head_types(body: object) -> list[Type | None]:
    """The types of the iteration number and the condition."""
    number, condition = head_shapes(body)
    return [TensorType(DataType.INT64, number), TensorType(DataType.BOOL, condition)]


class ScanOutput:
    """The elements that iterations yield for one output, put together along a new axis when all have run."""

    __slots__ = ("call", "elements", "value")

    def __init__(self, call: Call, value: Value) -> None:
        """`value` is the body's output; its declared type is needed only where nothing runs."""
        self.call = call
        self.value = value
        self.elements: list[Array] = []

    def add(self, element: RuntimeValue) -> None:
        """Takes the next element; raises EvaluationError when it is of another type or shape than those before."""
        if not isinstance(element, np.ndarray):
            raise EvaluationError(
                f"scan output {self.value.name!r} is {type(element).__name__}, not a tensor"
            )
        if self.elements:
            first = self.elements[0]
            if element.shape != first.shape or element.dtype != first.dtype:
                found, wanted = (f"{x.dtype}{list(x.shape)}" for x in (element, first))
                what = f"scan output {self.value.name!r} is {found} in iteration {len(self.elements)}, {wanted} before"
                raise EvaluationError(what)
        shape = (len(self.elements) + 1, *element.shape)
        claim(self.call, shape, element.dtype, f"scan output {self.value.name!r}")
        self.elements.append(element)

    def stacked(self, axis: int = 0, length: int | None = None) -> Array:
        """All elements along the new axis `axis`, filled up with zeros (or empty strings) to `length`.

        Without elements, the body's declaration tells the element type and the other sizes, and a size that it
        leaves open is 0.  Raises EvaluationError where no type is declared.
        """
        count = len(self.elements)
        length = count if length is None else length
        if not count:
            return self.nothing(axis, length)
        first = self.elements[0]
        if not -first.ndim - 1 <= axis <= first.ndim:
            what = f"axis {axis} of scan output {self.value.name!r} lies outside of rank {first.ndim + 1}"
            raise EvaluationError(what)
        if length == count:
            return np.stack(self.elements, axis)
        claim(self.call, (length, *first.shape), first.dtype, f"scan output {self.value.name!r}")
        filled = blank((length, *first.shape), first.dtype)
        filled[:count] = self.elements
        return np.moveaxis(filled, 0, axis)

    def nothing(self, axis: int, length: int) -> Array:
        declared = self.value.type
        if not isinstance(declared, TensorType):
            what = f"nothing has run, and the subgraph's output {self.value.name!r} declares no tensor type"
            raise EvaluationError(
                f"{what}: declare it, or infer the model's types, so that there is an empty result"
            )
        dims = [d if isinstance(d, int) else 0 for d in declared.shape or ()]
        dims.insert(axis % (len(dims) + 1), length)
        claim(self.call, dims, declared.dtype.numpy, f"scan output {self.value.name!r}")
        return blank(tuple(dims), declared.dtype.numpy)


def blank(shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Array:
    """Zeros, or empty strings."""
    return np.full(shape, "", object) if dtype.kind == "O" else np.zeros(shape, dtype)
