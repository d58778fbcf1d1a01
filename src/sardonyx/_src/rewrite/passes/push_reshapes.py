"""push-reshapes: elementwise work is done before a tensor gets another shape, where another Reshape follows.

Spec:    Reshape-5 -13 -14 -19 -21 -23 -24 -25, Flatten-1 -9 -11 -13 -21 -23 -24 -25,
         Squeeze-1 -11 -13 -21 -23 -24 -25, Unsqueeze-1 -11 -13 -21 -23 -24 -25,
         Transpose-1 -13 -21 -23 -24 -25, Gather-1 -11 -13
Before:  g (float[2,6] x) => (float[] y) <int64[1] s = {12}, int64[2] t = {3, 4}> {
           a = Reshape(x, s)  b = Exp(a)  y = Reshape(b, t)
         }
After:   g (float[2,6] x) => (float[] y) <int64[1] s = {12}, int64[2] t = {3, 4}> {
           b = Exp(x)  a = Reshape(b, s)  y = Reshape(a, t)
         }
Keeps:   shapes that others read; operands with more than one element; every bit.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.edit import Edit
from sardonyx._src.rewrite.reshapes import is_reshape, target
from sardonyx._src.rewrite.turns import is_elementwise

FAR = 8  # nodes: how far another Reshape is looked for


@rewrite(phase="simplify")
def push_reshapes(node: Node, edit: Edit) -> bool:
    value = operand(node, edit)
    inner = None if value is None else value.producer
    if value is None or inner is None or inner.graph is not node.graph or not is_reshape(inner, edit):
        return False
    source, graph = inner.inputs[0], node.graph
    alone = edit.is_free(value) and all(reader is node for reader, _ in value.uses)
    if source is None or graph is None or not (alone and edit.has("Reshape", graph)):
        return False
    if any((edit.rank(v) or 0) > (edit.rank(source) or 0) for v in node.inputs if v is not value):
        return False  # which would get more axes from a constant
    wanted = target(edit.shape(source), edit.shape(value))
    if wanted is None or not leads_to_reshapes(node.outputs[0], source, edit, FAR):
        return False
    inputs = [source if v is value else v for v in node.inputs]
    work = edit.make(node.op_type, inputs, dict(node.attributes), before=node, domain=node.domain)
    shape = edit.constant_of(np.array(wanted, np.int64), f"{value.name}_shape", before=node)
    done = edit.replace(node, "Reshape", [work.outputs[0], shape])
    if not done:
        edit.prune(work)
    return done


def operand(node: Node, edit: Edit) -> Value | None:
    """The one tensor that elementwise work reads, beside single elements, which widen nothing."""
    if not is_elementwise(node, edit) or node.device_configurations:
        return None
    wide = [v for v in node.inputs if v is not None and not is_single(v, edit)]
    rank = edit.rank(wide[0]) if wide and all(v is wide[0] for v in wide) else None
    if rank is None or any((edit.rank(v) or 0) > rank for v in node.inputs if v is not None):
        return None
    return wide[0]


def is_single(value: Value, edit: Edit) -> bool:
    tensor = edit.tensor(value)
    return edit.shape(value) == () or (tensor is not None and tensor.size == 1)


def leads_to_reshapes(value: Value, source: Value, edit: Edit, far: int) -> bool:
    """Whether all that reads a value gives it another shape, which can be said for the source, or is such work that
    leads to it."""
    if not edit.is_free(value) or not value._uses or far == 0:
        return False
    readers = dict.fromkeys(reader for reader, _ in value.uses)
    if all(is_reshape(r, edit) and r.inputs[0] is value for r in readers):
        shape = edit.shape(source)
        return all(target(shape, edit.shape(r.outputs[0])) is not None for r in readers)
    (reader, *others) = readers
    if others or operand(reader, edit) is not value:
        return False
    return leads_to_reshapes(reader.outputs[0], source, edit, far - 1)
