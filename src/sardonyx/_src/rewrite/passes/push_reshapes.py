"""push-reshapes: sink a Reshape through elementwise nodes towards another Reshape, so that both become one.

Spec:    Reshape-5 -13 -14 -19 -21 -23 -24 -25, Flatten-1 -9 -11 -13 -21 -23 -24 -25,
         Squeeze-1 -11 -13 -21 -23 -24 -25, Unsqueeze-1 -11 -13 -21 -23 -24 -25,
         Transpose-1 -13 -21 -23 -24 -25, Gather-1 -11 -13
Before:  g (float[2,6] x) => (float[] y) <int64[1] s = {12}, int64[2] t = {3, 4}> {
           a = Reshape(x, s)  b = Exp(a)  y = Reshape(b, t)
         }
After:   g (float[2,6] x) => (float[] y) <int64[1] s = {12}, int64[2] t = {3, 4}> {
           b = Exp(x)  a = Reshape(b, s)  y = Reshape(a, t)
         }
Keeps:   reshaped values with other uses; operands with more than one element; results exactly.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Node, Value
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.support.reshapes import is_reshape, reshape_target
from sardonyx._src.rewrite.support.transposes import inputs_with_elements, is_elementwise

MAX_RESHAPE_SEARCH_DEPTH = 8  # nodes visited to find another Reshape


@rewrite(phase="simplify")
def push_reshapes(node: Node, edit: Edit) -> bool:
    if not any(may_be_reshape(v, edit) for v in node.inputs):
        return False
    value = operand(node, edit)
    inner = None if value is None else value.producer
    if value is None or inner is None or inner.graph is not node.graph or not is_reshape(inner, edit):
        return False
    source, graph = inner.inputs[0], node.graph
    has_one_reader = edit.is_internal(value) and all(reader is node for reader, _ in value.uses)
    if source is None or graph is None or not (has_one_reader and edit.can_insert("Reshape", graph)):
        return False
    if any((edit.rank(v) or 0) > (edit.rank(source) or 0) for v in node.inputs if v is not value):
        return False  # a constant operand of higher rank would raise the rank of the result
    new_shape = reshape_target(edit.shape(source), edit.shape(value))
    if new_shape is None or not leads_to_reshapes(node.outputs[0], source, edit, MAX_RESHAPE_SEARCH_DEPTH):
        return False
    inputs = [source if v is value else v for v in node.inputs]
    work = edit.make(node.op_type, inputs, dict(node.attributes), before=node, domain=node.domain)
    shape = edit.make_constant(np.array(new_shape, np.int64), f"{value.name}_shape", before=node)
    replaced = edit.replace(node, "Reshape", [work.outputs[0], shape])
    if not replaced:
        edit.prune(work)
    return replaced


def may_be_reshape(value: Value | None, edit: Edit) -> bool:
    """Whether one of the operators under `Spec:` above produces a value; `is_reshape` then looks at the node."""
    node = None if value is None else value.producer
    return node is not None and (node.domain, node.op_type) in edit.supported_versions


def operand(node: Node, edit: Edit) -> Value | None:
    """The only tensor operand of an elementwise node; all others are single elements that do not broadcast it."""
    if not is_elementwise(node, edit) or node.device_configurations:
        return None
    inputs = [v for v in inputs_with_elements(node, edit) if v is not None]
    wide = [v for v in inputs if not is_single(v, edit)]
    rank = edit.rank(wide[0]) if wide and all(v is wide[0] for v in wide) else None
    if rank is None or any((edit.rank(v) or 0) > rank for v in inputs):
        return None
    return wide[0]


def is_single(value: Value, edit: Edit) -> bool:
    tensor = edit.tensor(value)
    return edit.shape(value) == () or (tensor is not None and tensor.size == 1)


def leads_to_reshapes(value: Value, source: Value, edit: Edit, depth: int) -> bool:
    """Whether all readers reshape a value, directly or after more elementwise nodes, to shapes that can be stated for the
    source."""
    if not edit.is_internal(value) or not value._uses or depth == 0:
        return False
    readers = dict.fromkeys(reader for reader, _ in value.uses)
    if all(is_reshape(r, edit) and r.inputs[0] is value for r in readers):
        shape = edit.shape(source)
        return all(reshape_target(shape, edit.shape(r.outputs[0])) is not None for r in readers)
    (reader, *others) = readers
    if others or operand(reader, edit) is not value:
        return False
    return leads_to_reshapes(reader.outputs[0], source, edit, depth - 1)
