"""Replacement of a match by the nodes of the pass's After text."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sardonyx._src.ir import Node, Tensor, Value
from sardonyx._src.rewrite.engine.edit import Edit, is_compatible
from sardonyx._src.rewrite.engine.match import Match
from sardonyx._src.rewrite.engine.pattern import AttributeRef, Pattern, PatternNode


def can_instantiate(after: Pattern, root: Node, edit: Edit) -> bool:
    """Whether the graph of the root imports the operators of the After text in versions that the pass supports."""
    assert root.graph is not None, f"{root!r} is in no graph"
    return all(edit.can_insert(op_type, root.graph, domain) for domain, op_type in after.operators())


def instantiate(after: Pattern, match: Match, bindings: Mapping[str, object]) -> bool:
    """Replace a match by the nodes of the After text; returns whether the replacement was made.

    The root's outputs become outputs of the new nodes.  The replacement is refused if inference gives a result a
    type that contradicts the old one.
    """
    edit, root = match.edit, match.root
    values: dict[str, Value | None] = dict(match.values)
    results = dict(zip(match.pattern.root.outputs, root.outputs, strict=False))
    new_nodes: list[Node] = []
    for part in after.nodes:
        inputs = [operand(name, values, bindings, match) for name in part.inputs]
        node = edit.make(
            part.op_type,
            inputs,
            attributes_of(part, match.attributes, bindings),
            before=root,
            outputs=len(part.outputs),
            domain=part.domain,
        )
        new_nodes.append(node)
        values.update(zip(part.outputs, node.outputs, strict=True))
    new = {old: value for name, old in results.items() if (value := values[name]) is not None}
    if not all(is_compatible(value.type, old.type) for old, value in new.items()):
        for node in reversed(new_nodes):
            edit.prune(node)
        return False
    replace_root(edit, root, new_nodes, new)
    return True


def operand(
    name: str, values: dict[str, Value | None], bindings: Mapping[str, object], match: Match
) -> Value | None:
    """The value of a name in the After text: a matched value, the result of a new node, or a new constant."""
    if not name:
        return None
    if name not in values:
        data = bindings[name]
        assert isinstance(data, np.ndarray | np.generic | Tensor), f"{name} must be an array; got {data!r}"
        stem = f"{match.root.name or match.root.outputs[0].name}/{name}"
        array = data if isinstance(data, Tensor) else np.asarray(data)
        values[name] = match.edit.make_constant(array, stem, before=match.root)
    return values[name]


def attributes_of(
    part: PatternNode, bound: Mapping[str, object], bindings: Mapping[str, object]
) -> dict[str, object]:
    """The attributes of a node of the After text."""

    def actual(value: object) -> object:
        if not isinstance(value, AttributeRef):
            return value
        return bindings[value.name] if value.name in bindings else bound[value.name]

    return {name: actual(value) for name, value in part.attributes.items()}


def replace_root(edit: Edit, root: Node, new_nodes: list[Node], results: Mapping[Value, Value]) -> None:
    """Transfer the root's outputs to the new nodes and its name to the last one; remove what became dead."""
    last = new_nodes[-1]
    if last.op_type == "Identity" and len(results) == 1:
        source = last.inputs[0]
        assert source is not None, "an Identity has an input"
        if edit.replace_uses(root.outputs[0], source):
            edit.prune(last)
            edit.prune(root)
            return
    last.name, last.doc = root.name, root.doc
    if root.has_metadata:
        last.metadata.update(root.metadata)
    for old, value in results.items():
        inferred = value.type
        edit.touch_readers(old)
        assert value.producer is not None, f"{value!r} has a producer"
        value.producer.take_output(value.index, old)
        old.type = old.type or inferred
    edit.prune(root)
