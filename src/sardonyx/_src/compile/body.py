"""Subgraphs taken out of their model: models of their own, with the values around them as further inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.clone import Copier
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.graph import Graph, Model, Value
from sardonyx._src.ir.names import Names
from sardonyx._src.ir.tensors import Array, Tensor
from sardonyx._src.ir.types import TensorType, Type
from sardonyx._src.ir.walk import captured
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.ops.bind import literal_of


@dataclass(frozen=True, slots=True)
class Extract:
    """A subgraph as a model.

    fed: the names of its inputs, those of the subgraph first, then those of outer values.  results: for each output of
    the subgraph a name: of an output of the model, of an input that is handed on, or of one of the `constants`.
    """

    model: Model
    fed: tuple[str, ...]
    results: tuple[str, ...]
    constants: Mapping[str, Array]


def around(graph: Graph) -> tuple[Value, ...]:
    """The outer values that a subgraph reads and that are not the same in every run."""
    return tuple(value for value in captured(graph) if not is_constant(value))


def is_constant(value: Value) -> bool:
    """Whether a value is an initializer that nobody overrides."""
    return value.initializer is not None and (value.graph is None or value not in value.graph.inputs)


def extracted(graph: Graph, model: Model, given: Sequence[RuntimeValue]) -> Extract:
    """The subgraph as a model; `given` are examples of what it is fed."""
    outer = {value: Value(value.name, value.type, value.initializer) for value in captured(graph)}
    copier = Copier(outer)
    copy = copier.graph(graph)
    for value in copy.inputs:
        if value.initializer is not None:
            copy.remove_initializer(value)  # it is always fed
    names = Names([copy])
    for value, inside in outer.items():
        inside.name = names.fresh(value.name)
        if is_constant(value):
            copy.add_initializer(inside)
        else:
            inside.initializer = None
            copy.add_input(inside)
    for value, example in zip(copy.inputs, given, strict=True):
        value.type = type_of(value.type, example)
    sources = [source(value) for value in copy.outputs]
    constants = {value.name: found for value in sources if (found := elements(value)) is not None}
    handed_on = {*copy.inputs, *(value for value in sources if value.name in constants)}
    copy.outputs = list(dict.fromkeys(value for value in sources if value not in handed_on))
    result = Model(copy, ir_version=model.ir_version, opset_imports=dict(model.opset_imports))
    result.functions = dict(model.functions)
    fed = tuple(value.name for value in copy.inputs)
    return Extract(result, fed, tuple(value.name for value in sources), constants)


def source(value: Value) -> Value:
    """The value that a value is the same as."""
    node = value.producer
    while node is not None and node.op_type == "Identity" and not node.domain and node.inputs[0] is not None:
        value = node.inputs[0]
        node = value.producer
    return value


def elements(value: Value) -> Array | None:
    """The elements of a constant, which nobody may write to."""
    literal = value.initializer if value.producer is None else literal_of(value.producer)
    if not isinstance(literal, Tensor):
        return None
    found = literal.numpy().view()
    found.flags.writeable = False
    return found


def type_of(known: Type | None, example: RuntimeValue) -> Type | None:
    """The type of an input, of any sizes but those that inference knows; None for what is no tensor."""
    if not isinstance(example, np.ndarray):
        return None
    dims: list[Dim] = [None] * example.ndim
    if isinstance(known, TensorType) and known.shape is not None and len(known.shape) == example.ndim:
        sizes = zip(known.shape, example.shape, strict=True)
        dims = [dim if not isinstance(dim, int) or dim == size else None for dim, size in sizes]
    return TensorType(DataType.of(example.dtype), tuple(dims))
