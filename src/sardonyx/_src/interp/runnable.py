"""Whether a model can be run: the errors of the reference engine, without the engine, which few native runs need."""

from __future__ import annotations

from collections.abc import Hashable

from sardonyx._src.interp.program import (
    InterpreterProgram,
    check_kernels,
    check_sparse_initializers,
    constant_value,
    step_of,
)
from sardonyx._src.io.nesting import limit_nesting
from sardonyx._src.ir import Model, Node
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ops.api import RunLimits

# Attributes whose values are compared: numbers, strings, and tuples of them.
PLAIN_TYPES = frozenset(
    AttributeType[name] for name in ("FLOAT", "INT", "STRING", "FLOATS", "INTS", "STRINGS")
)
PLAIN_VALUES = frozenset((float, int, bytes, tuple))


def require_runnable(model: Model, limits: RunLimits | None = None) -> None:
    """Raises what `Interpreter` raises for a model that cannot be run."""
    check_kernels(model)
    check_sparse_initializers(model, (limits or RunLimits()).bytes)
    with limit_nesting():
        program = InterpreterProgram(model.graph, model, model.opset_imports, {})
        for value in model.graph.initializers.values():
            constant_value(value)
        checked: set[Hashable] = set()
        for node in model.graph.nodes:
            key = call_key(node)
            if key is None or key not in checked:
                step_of(node, program)
                checked.add(key)


def call_key(node: Node) -> Hashable | None:
    """Equal for nodes of the main graph that are bound alike; None if an attribute holds tensors, graphs or a reference.

    Binding depends on the operator, on which inputs and outputs are given, and on the attributes.
    """
    attributes = []
    for attribute in node.attributes.values():
        if attribute.type not in PLAIN_TYPES or type(attribute.value) not in PLAIN_VALUES:
            return None
        attributes.append((attribute.name, attribute.type, attribute.value))
    inputs = tuple([value is not None for value in node._inputs])
    outputs = tuple([bool(value.name) for value in node._outputs])
    return node.domain, node.op_type, node.overload, inputs, outputs, *attributes
