"""push-transposes: elementwise work is done before the axes are moved, where that leaves fewer Transposes.

Spec:    Transpose-1 -13 -21 -23 -24 -25
Before:  g (float[2,3] x, float[2,3] z) => (float[] y) { a = Transpose(x)  b = Transpose(z)  y = Add(a, b) }
After:   g (float[2,3] x, float[2,3] z) => (float[] y) { a = Add(x, z)  y = Transpose<perm = [1, 0]>(a) }
Keeps:   Transposes whose results others read; work that knows of axes; every bit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx.ir.graph import Node, Value
from sardonyx.rewrite.api import rewrite
from sardonyx.rewrite.edit import Edit

AXES = {"axis", "axes", "block_size", "broadcast"}  # attributes of what is not the same for all axes
FAR = 8  # nodes: how far another Transpose is looked for


@rewrite(phase="simplify")
def push_transposes(node: Node, edit: Edit) -> bool:
    if not is_elementwise(node, edit):
        return False
    moved = [edit.producer(v, "Transpose") for v in node.inputs]
    turns = [t for t in moved if t is not None]
    if not turns:
        return False
    perm = perm_of(turns[0], edit)
    if perm is None or any(perm_of(t, edit) != perm for t in turns):
        return False
    if not all(only_reader(t, node, edit) for t in turns):
        return False
    if len(set(turns)) < 2 and not leads_to_transposes(node.outputs[0], edit, FAR):
        return False
    return push(node, moved, perm, edit)


def push(node: Node, moved: Sequence[Node | None], perm: tuple[int, ...], edit: Edit) -> bool:
    others = [v for v, t in zip(node.inputs, moved, strict=True) if t is None and v is not None]
    if not all(can_be_turned(v, len(perm), edit) for v in others):
        return False
    inputs = [
        t.inputs[0] if t is not None else turned(v, perm, node, edit)
        for v, t in zip(node.inputs, moved, strict=True)
    ]
    work = edit.make(node.op_type, inputs, dict(node.attributes), before=node, domain=node.domain)
    done = edit.replace(node, "Transpose", work.outputs, {"perm": list(perm)})
    if not done:
        edit.prune(work)
    return done


def is_elementwise(node: Node, edit: Edit) -> bool:
    found = edit.meaning(node)
    if found is None or not found.op.elementwise or found.op.is_random or node.device_configurations:
        return False
    return len(node.outputs) == 1 and not AXES & found.schema.attributes.keys()


def perm_of(node: Node, edit: Edit) -> tuple[int, ...] | None:
    """The order of a Transpose; None where a missing one reverses axes that are not counted."""
    perm = edit.attributes(node).get("perm")
    if isinstance(perm, tuple):
        return perm
    rank = edit.rank(node.inputs[0])
    return None if rank is None else tuple(reversed(range(rank)))


def only_reader(turn: Node, reader: Node, edit: Edit) -> bool:
    made = turn.outputs[0]
    return edit.is_free(made) and all(one is reader for one, _ in made.uses)


def leads_to_transposes(value: Value, edit: Edit, far: int) -> bool:
    """Whether everything that reads a value is a Transpose, or elementwise work that leads to one."""
    if not edit.is_free(value) or not value._uses or far == 0:
        return False
    for reader, _ in value.uses:
        if edit.is_a(reader, "Transpose"):
            continue
        others = [v for v in reader.inputs if v is not value and v is not None]
        if not is_elementwise(reader, edit) or any(edit.tensor(v) is None for v in others):
            return False
        if not leads_to_transposes(reader.outputs[0], edit, far - 1):
            return False
    return True


def can_be_turned(value: Value, rank: int, edit: Edit) -> bool:
    """Whether an operand is the same for all axes, or constant and of no higher rank."""
    tensor = edit.tensor(value)
    return edit.shape(value) == () or (tensor is not None and len(tensor.shape) <= rank)


def turned(value: Value | None, perm: tuple[int, ...], node: Node, edit: Edit) -> Value | None:
    """The operand as it stands before its axes are moved."""
    data = edit.constant(value)
    if value is None or data is None or data.size == 1:
        return value
    whole = data.reshape((1,) * (len(perm) - data.ndim) + data.shape)
    back = np.ascontiguousarray(whole.transpose(np.argsort(perm)))
    return edit.constant_of(back, f"{value.name}_turned", before=node)
