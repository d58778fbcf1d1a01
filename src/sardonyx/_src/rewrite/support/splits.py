"""Splits whose outputs each have one reader."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.ir import Node, Value
from sardonyx._src.rewrite.engine.edit import Edit


def only_readers(split: Node, op_type: str, edit: Edit) -> list[Node] | None:
    """The sole reader of each output, if all are nodes of this operator in the same graph, reading it as input 0."""
    readers: list[Node] = []
    for value in split.outputs:
        if not edit.has_one_use(value):
            return None
        ((reader, slot),) = value.uses
        if slot or reader.graph is not split.graph or not edit.is_a(reader, op_type):
            return None
        readers.append(reader)
    return readers


def insert_split(
    old: Node, source: Value, axis: int, sizes: Sequence[int], results: Sequence[Value], edit: Edit
) -> None:
    """Insert a Split of another tensor before an old one; its outputs replace `results`, whose producers are removed."""
    graph = old.graph
    assert graph is not None, f"{old!r} is in no graph"
    operator = edit.operator("", "Split", edit.imports(graph)[""])
    assert operator is not None, "Split exists in every opset"
    inputs: list[Value | None] = [source]
    attributes: dict[str, object] = {"axis": axis}
    if operator.version >= 13:
        inputs.append(edit.make_constant(np.array(sizes, np.int64), f"{source.name}_sizes", before=old))
    else:
        attributes["split"] = list(sizes)
    split = edit.make("Split", inputs, attributes, before=old, outputs=len(results), name=old.name)
    for value, part in zip(results, split.outputs, strict=True):
        source_node = value.producer
        assert source_node is not None, f"{value!r} has a producer"
        replaced = edit.replace_uses(value, part)
        assert replaced, f"{part!r} is new and internal"
        edit.prune(source_node)
