"""The elements of sequences that nodes of a graph construct."""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Node, Value
from sardonyx._src.rewrite.engine.edit import Edit

MAX_ELEMENTS = 64  # elements of a sequence that is followed


def elements_of(value: Value | None, edit: Edit) -> list[Value] | None:
    """The tensors that a sequence holds, in order; None if they are not known.

    They are known if all nodes that construct the sequence are in one graph and insert and erase at constant positions.
    """
    node = None if value is None else value.producer
    if node is None or value is None:
        return None
    if edit.is_a(node, "SequenceEmpty"):
        return []
    if edit.is_a(node, "SequenceConstruct"):
        given = [x for x in node.inputs if x is not None]
        return given if len(given) == len(node.inputs) <= MAX_ELEMENTS else None
    if edit.is_a(node, "SequenceInsert"):
        return with_inserted(node, edit)
    return with_erased(node, edit) if edit.is_a(node, "SequenceErase") else None


def with_inserted(node: Node, edit: Edit) -> list[Value] | None:
    elements, tensor = elements_of(source_of(node), edit), node.inputs[1]
    if elements is None or tensor is None or len(elements) >= MAX_ELEMENTS:
        return None
    position = position_of(node, 2, len(elements), len(elements) + 1, edit)
    return None if position is None else [*elements[:position], tensor, *elements[position:]]


def with_erased(node: Node, edit: Edit) -> list[Value] | None:
    elements = elements_of(source_of(node), edit)
    if not elements:
        return None
    position = position_of(node, 1, len(elements) - 1, len(elements), edit)
    return None if position is None else [*elements[:position], *elements[position + 1 :]]


def source_of(node: Node) -> Value | None:
    """The sequence that a node reads, if a node of the same graph computes it."""
    value = node.inputs[0]
    return value if value is not None and value.owner is node.graph else None


def position_of(node: Node, slot: int, default: int, count: int, edit: Edit) -> int | None:
    """The position in an input of SequenceInsert or SequenceErase: 0 to count - 1.

    default: the position if the input is omitted: the end of the sequence for SequenceInsert, its last element for
    SequenceErase.  A negative position counts from the end of the sequence.  None for a position that is not constant or out
    of range.
    """
    value = node.inputs[slot] if slot < len(node.inputs) else None
    if value is None:
        return default
    known = edit.elements(value)
    if known is None or known.dtype == np.object_ or known.size != 1:
        return None
    position = int(known.reshape(-1)[0])
    position += (default if slot == 2 else count) if position < 0 else 0
    return position if 0 <= position < count else None
