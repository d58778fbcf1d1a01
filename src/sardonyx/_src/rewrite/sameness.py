"""Whether nodes, and subgraphs node by node, do the same."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from sardonyx._src.ir.graph import Attribute, Graph, Node, Value
from sardonyx._src.ir.tensors import SparseTensor, Tensor
from sardonyx._src.rewrite.edit import Edit

MOST = 1 << 16  # elements of a tensor that is compared


def same_work(one: Graph, other: Graph, edit: Edit) -> bool:
    """Whether two subgraphs without inputs compute the same, in the same order, of the same values around them."""
    if one.inputs or other.inputs or len(one.nodes) != len(other.nodes):
        return False
    pairs: dict[Value, Value] = {}  # of values inside, by the first graph's

    def same_value(a: Value | None, b: Value | None) -> bool:
        if a is None or b is None:
            return a is b
        if a.graph is one and a.producer is None and b.graph is other and b.producer is None:
            return same_constant(a, b)
        return pairs.get(a, a) is b

    for a, b in zip(one.nodes, other.nodes, strict=True):
        kind = kind_of(a, edit)
        if kind is None or kind != kind_of(b, edit) or len(a.inputs) != len(b.inputs):
            return False
        if not all(map(same_value, a.inputs, b.inputs)):
            return False
        pairs.update(zip(a.outputs, b.outputs, strict=True))
    return len(one.outputs) == len(other.outputs) and all(map(same_value, one.outputs, other.outputs))


def kind_of(node: Node, edit: Edit) -> Hashable:
    """Equal for nodes that compute the same of equal inputs; None for one that cannot be compared."""
    found = edit.meaning(node)
    if found is None or found.op.is_random or node.subgraphs or node.device_configurations:
        return None
    attributes: list[Hashable] = []
    for name in sorted(node.attributes):
        part = content(node.attributes[name])
        if part is None:
            return None
        attributes.append((name, part))
    return node.domain, node.op_type, tuple(attributes), len(node.outputs)


def same_constant(a: Value, b: Value) -> bool:
    """Whether two initializers hold the same."""
    one, other = a.initializer, b.initializer
    if not isinstance(one, Tensor) or not isinstance(other, Tensor) or max(one.size, other.size) > MOST:
        return False
    return one is other or of_tensor(one) == of_tensor(other)


def of_tensor(tensor: Tensor) -> Hashable:
    data = tensor.numpy()
    plain = tuple(data.reshape(-1).tolist()) if data.dtype == np.object_ else data.tobytes()
    return tensor.dtype, tensor.shape, plain


def content(attribute: Attribute) -> Hashable:
    """An attribute's value as something to compare; None for what cannot be."""
    value = attribute.value
    if isinstance(value, Tensor):
        return None if value.size > MOST else of_tensor(value)
    if isinstance(value, SparseTensor) or (
        isinstance(value, tuple) and any(isinstance(v, Tensor) for v in value)
    ):
        return None
    if isinstance(value, float):
        return np.float64(value).tobytes()  # tells -0.0 from 0.0
    return attribute.type, value  # the rest is made of numbers, strings and types
