"""Outlining: a subgraph as a model of its own, with the outer values that it captures as additional inputs.

A body of If, Loop or Scan that cannot be lowered in place belongs to a fallback operation; the runtime outlines it at its
first call, with the values of that call as examples, and compiles the model (`runtime.fallbacks.native_subgraphs`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Graph, Model, Tensor, TensorType, Type, Value
from sardonyx._src.ir.copier import Copier
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.names import FreshNames
from sardonyx._src.ir.walk import captures
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.ops.bind import literal_of


@dataclass(frozen=True, slots=True)
class OutlinedSubgraph:
    """A subgraph as a model.

    inputs: names of the model's inputs, those of the subgraph first, then the captured values.
    results: for each output of the subgraph, the name of an output of the model, of an input that is returned
        unchanged, or of a constant.
    constants: the outputs that are constant, by name.
    """

    model: Model
    inputs: tuple[str, ...]
    results: tuple[str, ...]
    constants: Mapping[str, Array]


def outer_inputs(graph: Graph) -> tuple[Value, ...]:
    """The captured values of a subgraph that may differ between runs."""
    return tuple(value for value in captures(graph) if not is_constant_initializer(value))


def is_constant_initializer(value: Value) -> bool:
    """Whether a value is an initializer that callers cannot override."""
    return value.initializer is not None and (value.graph is None or not value.graph.has_input(value))


def outline(graph: Graph, model: Model, examples: Sequence[RuntimeValue]) -> OutlinedSubgraph:
    """The subgraph as a model; the element types and ranks of its inputs are those of the values `examples`."""
    outer = {value: Value(value.name, value.type, value.initializer) for value in captures(graph)}
    copier = Copier(outer)
    copy = copier.graph(graph)
    for value in copy.inputs:
        if value.initializer is not None:
            copy.remove_initializer(value)  # callers always pass it
    names = FreshNames.of_graphs([copy])
    for value, inside in outer.items():
        inside.name = names.fresh(value.name)
        if is_constant_initializer(value):
            copy.add_initializer(inside)
        else:
            inside.initializer = None
            copy.add_input(inside)
    for value, example in zip(copy.inputs, examples, strict=True):
        value.type = input_type(value.type, example)
    sources = [resolve_identity(value) for value in copy.outputs]
    constants = {v.name: array for v in sources if (array := constant_elements(v)) is not None}
    not_computed = {*copy.inputs, *(value for value in sources if value.name in constants)}
    copy.outputs = list(dict.fromkeys(value for value in sources if value not in not_computed))
    result = Model(copy, ir_version=model.ir_version, opset_imports=dict(model.opset_imports))
    result.functions = dict(model.functions)
    inputs = tuple(value.name for value in copy.inputs)
    return OutlinedSubgraph(result, inputs, tuple(value.name for value in sources), constants)


def resolve_identity(value: Value) -> Value:
    """The value that a chain of Identity nodes forwards."""
    node = value.producer
    while node is not None and node.op_type == "Identity" and not node.domain and node.inputs[0] is not None:
        value = node.inputs[0]
        node = value.producer
    return value


def constant_elements(value: Value) -> Array | None:
    """The elements of a constant, read-only; None for any other value."""
    literal = value.initializer if value.producer is None else literal_of(value.producer)
    if not isinstance(literal, Tensor):
        return None
    array = literal.numpy().view()
    array.flags.writeable = False
    return array


def input_type(known: Type | None, example: RuntimeValue) -> Type | None:
    """The type of an input: the example's element type and rank, with the dims that inference knows; None for non-tensors."""
    if not isinstance(example, np.ndarray):
        return None
    dims: list[Dim] = [None] * example.ndim
    if isinstance(known, TensorType) and known.shape is not None and len(known.shape) == example.ndim:
        sizes = zip(known.shape, example.shape, strict=True)
        dims = [dim if not isinstance(dim, int) or dim == size else None for dim, size in sizes]
    return TensorType(DataType.of(example.dtype), tuple(dims))
