"""Fed parameters: inputs of the model that fallback operations read as parameters, such as axes or sizes.

A program can be specialized for their elements (`program.steps.assumptions`), and then has kernels for these operations.
"""

from __future__ import annotations

from collections.abc import Iterable

from sardonyx._src.compile.partition import Scope
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node, TensorType, Value
from sardonyx._src.ir.walk import nodes
from sardonyx._src.ops import registry


def open_parameters(scope: Scope, fallbacks: Iterable[Node]) -> tuple[str, ...]:
    """The names of the inputs from which parameters of the nodes, and of nodes in their subgraphs, are computed.

    Parameters that depend on other values than vectors and scalars are left out.
    """
    inputs: dict[Value, None] = {}
    for fallback in fallbacks:
        for node in (fallback, *(inner for graph in fallback.subgraphs for inner in nodes(graph))):
            operator = registry.find(node.domain, node.op_type)
            for i in operator.parameters if operator is not None else ():
                value = node.inputs[i] if i < len(node.inputs) else None
                if value is not None:
                    inputs |= dict.fromkeys(sources_of(scope, value) or ())
    return tuple(value.name for value in inputs)


def sources_of(scope: Scope, value: Value) -> set[Value] | None:
    """The inputs of the model from which a value is computed; None if it depends on other sources or on larger inputs.

    A node that reads only the shape of a value does not depend on its elements.
    """
    sources: set[Value] = set()
    pending, seen = [value], {value}
    while pending:
        current = pending.pop()
        if current.initializer is not None or is_determined(scope, current):
            continue
        if current.producer is None:
            if current not in scope.model.graph.inputs or not is_vector(current):
                return None
            sources.add(current)
        elif not reads_shape(current.producer):
            new_values = {v for v in current.producer.inputs if v is not None} - seen
            pending += new_values
            seen |= new_values
    return sources


def is_determined(scope: Scope, value: Value) -> bool:
    """Whether the elements of a value are known, as numbers or as expressions over sizes."""
    elements = scope.elements(value)
    return elements is not None and None not in elements.reshape(-1).tolist()


def is_vector(value: Value) -> bool:
    """Whether a value is a tensor of numbers of at most one axis."""
    type_ = value.type
    return (
        isinstance(type_, TensorType)
        and type_.dtype is not DataType.STRING
        and type_.shape is not None
        and len(type_.shape) <= 1
    )


def reads_shape(node: Node) -> bool:
    operator = registry.find(node.domain, node.op_type)
    return operator is not None and operator.reads_shape
