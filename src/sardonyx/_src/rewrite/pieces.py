"""A Split, and nodes of one operator that alone read its pieces."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.rewrite.edit import Edit


def only_readers(split: Node, op_type: str, edit: Edit) -> list[Node] | None:
    """The one reader of every piece, where each is a node of the operator in the same graph that reads it first."""
    found: list[Node] = []
    for value in split.outputs:
        if not edit.is_read_once(value):
            return None
        ((reader, slot),) = value.uses
        if slot or reader.graph is not split.graph or not edit.is_a(reader, op_type):
            return None
        found.append(reader)
    return found


def put_split(
    old: Node, source: Value, axis: int, sizes: Sequence[int], results: Sequence[Value], edit: Edit
) -> None:
    """Puts a Split of another tensor before an old one; its pieces take the places of `results`, whose makers go."""
    graph = old.graph
    assert graph is not None, f"{old!r} is in no graph"
    found = edit.operator("", "Split", edit.imports(graph)[""])
    assert found is not None, "Split is there"
    inputs: list[Value | None] = [source]
    attributes: dict[str, object] = {"axis": axis}
    if found.version >= 13:
        inputs.append(edit.constant_of(np.array(sizes, np.int64), f"{source.name}_sizes", before=old))
    else:
        attributes["split"] = list(sizes)
    split = edit.make("Split", inputs, attributes, before=old, outputs=len(results), name=old.name)
    for value, piece in zip(results, split.outputs, strict=True):
        maker = value.producer
        assert maker is not None, f"{value!r} is made by a node"
        done = edit.forward(value, piece)
        assert done, f"{piece!r} is new and free"
        edit.prune(maker)
