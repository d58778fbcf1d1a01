"""Structural equivalence of nodes and of subgraphs."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from sardonyx._src.ir import Attribute, Graph, Node, SparseTensor, Tensor, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.rewrite.engine.edit import Edit

MAX_COMPARED_ELEMENTS = 1 << 16  # elements of a tensor that is compared
LISTS_OF_NUMBERS = frozenset(
    {AttributeType.FLOATS, AttributeType.INTS}
)  # attribute types with possibly long values


def are_equivalent(first: Graph, second: Graph, edit: Edit) -> bool:
    """Whether two subgraphs without inputs compute the same from the same outer values, node by node."""
    if first.inputs or second.inputs or len(first.nodes) != len(second.nodes):
        return False
    pairs: dict[Value, Value] = {}  # the second graph's value by the first graph's

    def are_same_value(a: Value | None, b: Value | None) -> bool:
        if a is None or b is None:
            return a is b
        if a.graph is first and a.producer is None and b.graph is second and b.producer is None:
            return are_equal_constants(a, b)
        return pairs.get(a, a) is b

    for a, b in zip(first.nodes, second.nodes, strict=True):
        kind = computation_key(a, edit)
        if kind is None or kind != computation_key(b, edit) or len(a.inputs) != len(b.inputs):
            return False
        if not all(map(are_same_value, a.inputs, b.inputs)):
            return False
        pairs.update(zip(a.outputs, b.outputs, strict=True))
    return len(first.outputs) == len(second.outputs) and all(
        map(are_same_value, first.outputs, second.outputs)
    )


def computation_key(node: Node, edit: Edit) -> Hashable:
    """A key that is equal for nodes that compute the same from equal inputs; None for nodes that cannot be compared."""
    operator = edit.operator_of(node)
    if operator is None or operator.op.is_random or node.subgraphs or node.device_configurations:
        return None
    attributes: list[Hashable] = []
    for name in sorted(node.attributes):
        key = attribute_key(node.attributes[name])
        if key is None:
            return None
        attributes.append((name, key))
    return node.domain, node.op_type, tuple(attributes), len(node.outputs)


def are_equal_constants(a: Value, b: Value) -> bool:
    """Whether two initializers hold equal tensors."""
    first, second = a.initializer, b.initializer
    if (
        not isinstance(first, Tensor)
        or not isinstance(second, Tensor)
        or max(first.size, second.size) > MAX_COMPARED_ELEMENTS
    ):
        return False
    return first is second or tensor_key(first) == tensor_key(second)


def tensor_key(tensor: Tensor) -> Hashable:
    data = tensor.numpy()
    plain = tuple(data.reshape(-1).tolist()) if data.dtype == np.object_ else data.tobytes()
    return tensor.dtype, tensor.shape, plain


def attribute_key(attribute: Attribute) -> Hashable:
    """A comparable key of an attribute's value; None if there is none."""
    value = attribute.value
    if isinstance(value, Tensor):
        return None if value.size > MAX_COMPARED_ELEMENTS else tensor_key(value)
    if isinstance(value, SparseTensor) or (
        isinstance(value, tuple)
        and attribute.type not in LISTS_OF_NUMBERS
        and any(isinstance(v, Tensor) for v in value)
    ):
        return None
    if isinstance(value, float) or (attribute.type is AttributeType.FLOATS and isinstance(value, tuple)):
        return attribute.type, np.array(value, np.float64).tobytes()  # distinguishes -0.0 from 0.0
    return attribute.type, value  # integers, strings, types, and lists, which can be compared directly
