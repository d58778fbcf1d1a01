"""A match replaced by what the After text of its pass says."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.ir.tensors import Tensor
from sardonyx._src.rewrite.edit import Edit, fits
from sardonyx._src.rewrite.match import Match
from sardonyx._src.rewrite.pattern import Pattern, PatternNode, Ref


def can_be_written(after: Pattern, root: Node, edit: Edit) -> bool:
    """Whether the operators of the After text exist where the root stands, in versions that the pass was read for."""
    assert root.graph is not None, f"{root!r} is in no graph"
    return all(edit.has(op_type, root.graph, domain) for domain, op_type in after.operators())


def put(after: Pattern, match: Match, extra: Mapping[str, object]) -> bool:
    """Puts the nodes of the After text in the place of a match; answers whether that was possible.

    The root's outputs live on as outputs of the new nodes.  It is not possible where inference says that a result
    would have another type than it had.
    """
    edit, root = match.edit, match.root
    values: dict[str, Value | None] = dict(match.values)
    results = dict(zip(match.pattern.root.outputs, root.outputs, strict=False))
    made: list[Node] = []
    for part in after.nodes:
        inputs = [operand(name, values, extra, match) for name in part.inputs]
        node = edit.make(
            part.op_type,
            inputs,
            attributes_of(part, match.attributes, extra),
            before=root,
            outputs=len(part.outputs),
            domain=part.domain,
        )
        made.append(node)
        values.update(zip(part.outputs, node.outputs, strict=True))
    new = {old: value for name, old in results.items() if (value := values[name]) is not None}
    if not all(fits(value.type, old.type) for old, value in new.items()):
        for node in reversed(made):
            edit.prune(node)
        return False
    take_results(edit, root, made, new)
    return True


def operand(
    name: str, values: dict[str, Value | None], extra: Mapping[str, object], match: Match
) -> Value | None:
    """The value that a name of the After text means: a matched one, a new one, or a new constant."""
    if not name:
        return None
    if name not in values:
        data = extra[name]
        assert isinstance(data, np.ndarray | np.generic | Tensor), f"{name} is {data!r}, not an array"
        stem = f"{match.root.name or match.root.outputs[0].name}/{name}"
        array = data if isinstance(data, Tensor) else np.asarray(data)
        values[name] = match.edit.constant_of(array, stem, before=match.root)
    return values[name]


def attributes_of(
    part: PatternNode, bound: Mapping[str, object], extra: Mapping[str, object]
) -> dict[str, object]:
    """The attributes of a node of the After text."""

    def actual(value: object) -> object:
        if not isinstance(value, Ref):
            return value
        return extra[value.name] if value.name in extra else bound[value.name]

    return {name: actual(value) for name, value in part.attributes.items()}


def take_results(edit: Edit, root: Node, made: list[Node], results: Mapping[Value, Value]) -> None:
    """Gives the root's outputs to the new nodes, its name to the last one, and removes what is not needed any more."""
    last = made[-1]
    if last.op_type == "Identity" and len(results) == 1:
        source = last.inputs[0]
        assert source is not None, "an Identity has an input"
        if edit.forward(root.outputs[0], source):
            edit.prune(last)
            edit.prune(root)
            return
    last.name, last.doc = root.name, root.doc
    if root.has_metadata:
        last.metadata.update(root.metadata)
    for old, value in results.items():
        found = value.type
        edit.touch_readers(old)
        assert value.producer is not None, f"{value!r} is made by a node"
        value.producer.take_output(value.index, old)
        old.type = old.type or found
    edit.prune(root)
