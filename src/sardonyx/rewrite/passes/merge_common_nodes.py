"""merge-common-nodes: of nodes that compute the same from the same values, the first stays.

Before:  g (float[2] x) => (float[2] y) { a = Exp(x)  b = Exp(x)  y = Add(a, b) }
After:   g (float[2] x) => (float[2] y) { a = Exp(x)  y = Add(a, a) }
Keeps:   random draws, each of which is another; nodes with subgraphs; names of outputs.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

import numpy as np

from sardonyx.ir.graph import Attribute, Graph, Node, Value
from sardonyx.ir.tensors import SparseTensor, Tensor
from sardonyx.ir.walk import roots
from sardonyx.rewrite.api import sweep
from sardonyx.rewrite.edit import Edit

MOST = 1 << 16  # elements of a tensor in an attribute that is compared


@sweep(phase="simplify")
def merge_common_nodes(edit: Edit) -> Iterator[str]:
    for root in roots(edit.model):
        yield from merge(root, {}, edit)


def merge(graph: Graph, outer: Mapping[Hashable, Node], edit: Edit) -> Iterator[str]:
    """Merges the nodes of a graph with earlier ones, those of the graphs around it included."""
    seen = dict(outer)
    for node in graph.nodes:
        for inner in node.subgraphs:
            yield from merge(inner, seen, edit)
        key = key_of(node, edit)
        if key is None:
            continue
        first = seen.setdefault(key, node)
        if first is not node and can_stand_for(first, node, edit):
            for kept, value in zip(first.outputs, node.outputs, strict=True):
                if value.name:
                    edit.forward(value, kept)
            edit.prune(node)
            yield f"{node.op_type} {node.name!r}"


def can_stand_for(first: Node, node: Node, edit: Edit) -> bool:
    """Whether every output of a node can be had from an earlier one."""
    for kept, value in zip(first.outputs, node.outputs, strict=True):
        if value.name and not kept.name:
            return False
        if value.name and not edit.is_free(value) and not (edit.is_free(kept) and first.graph is node.graph):
            return False
    return True


def key_of(node: Node, edit: Edit) -> Hashable:
    """Equal for nodes that compute the same; None for one that cannot be compared."""
    found = edit.meaning(node)
    if found is None or found.op.is_random or node.subgraphs or node.device_configurations:
        return None
    inputs: tuple[Value | None, ...] = node.inputs
    if found.op.commutative and len(inputs) == 2:
        inputs = tuple(sorted(inputs, key=id))
    attributes: list[Hashable] = []
    for name in sorted(node.attributes):
        part = content(node.attributes[name])
        if part is None:
            return None
        attributes.append((name, part))
    return node.domain, node.op_type, inputs, tuple(attributes), len(node.outputs)


def content(attribute: Attribute) -> Hashable:
    """An attribute's value as something to compare; None for what cannot be."""
    value = attribute.value
    if isinstance(value, Tensor):
        if value.size > MOST:
            return None
        data = value.numpy()
        plain = tuple(data.reshape(-1).tolist()) if data.dtype == np.object_ else data.tobytes()
        return value.dtype, value.shape, plain
    if isinstance(value, SparseTensor) or (
        isinstance(value, tuple) and any(isinstance(v, Tensor) for v in value)
    ):
        return None
    if isinstance(value, float):
        return np.float64(value).tobytes()  # tells -0.0 from 0.0
    return attribute.type, value  # the rest is made of numbers, strings and types
