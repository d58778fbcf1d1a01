"""fuse-clip: fuse successive bounds into one Clip, and remove infinite bounds.

Spec:    Relu-6 -13 -14, Clip-6 -11 -12 -13, Max-8 -12 -13, Min-8 -12 -13
Before:  g (float[2] x) => (float[] y) <float six = {6}> { a = Relu(x)  y = Min(a, six) }
After:   g (float[2] x) => (float[] y) <float o = {0}, float six = {6}> { y = Clip(x, o, six) }
Keeps:   bounds that are not constant scalars; intermediate values with other uses; results exactly, except the sign of zeros.
"""

from __future__ import annotations

import math

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Node, Value
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit

CLIP_TYPES = ("FLOAT", "FLOAT16", "DOUBLE")


@dataclass(frozen=True, slots=True)
class Bounds:
    """A node that computes min(max(x, low), high)."""

    x: Value
    low: float
    high: float


@rewrite(root=("Relu", "Clip", "Max", "Min"), phase="fuse")
def fuse_clip(node: Node, edit: Edit) -> bool:
    outer = bounds_of(node, edit)
    if outer is None or node.graph is None:
        return False
    if (outer.low, outer.high) == (-math.inf, math.inf) and edit.replace_uses(node.outputs[0], outer.x):
        edit.prune(node)
        return True
    first = outer.x.producer
    inner = None if first is None or first.graph is not node.graph else bounds_of(first, edit)
    if inner is None or not edit.has_one_use(outer.x) or not edit.can_insert("Clip", node.graph):
        return False
    low = min(max(min(inner.low, inner.high), outer.low), outer.high)
    high = min(max(inner.high, outer.low), outer.high)
    return emit_bounds(node, Bounds(inner.x, low, high), edit)


def bounds_of(node: Node, edit: Edit) -> Bounds | None:
    """The constant bounds of a Relu, Clip, Max or Min on floats; None for any other node."""
    if node.op_type not in ("Relu", "Clip", "Max", "Min") or not edit.is_a(node, node.op_type):
        return None
    type, x = edit.type(node.outputs[0]), node.inputs[0] if node.inputs else None
    if type is None or type.dtype.name not in CLIP_TYPES or x is None:
        return None
    if node.op_type == "Relu":
        return Bounds(x, 0.0, math.inf)
    bounds = clip_bounds(node, x, edit) if node.op_type == "Clip" else min_max_bounds(node, edit)
    return None if bounds is None or math.isnan(bounds.low) or math.isnan(bounds.high) else bounds


def clip_bounds(node: Node, x: Value, edit: Edit) -> Bounds | None:
    """An omitted bound is the element type's finite extreme: infinities are clipped."""
    type = edit.type(node.outputs[0])
    assert type is not None, "checked above"
    if edit.version(node) < 11:
        attributes = edit.attributes(node)
        minimum, maximum = attributes["min"], attributes["max"]
        assert isinstance(minimum, float) and isinstance(maximum, float), "both have defaults"
        return Bounds(x, minimum, maximum)
    extreme = float(np.finfo(type.dtype.numpy).max)
    low_value, high_value = ([*node.inputs[1:], None, None])[:2]
    low = -extreme if low_value is None else edit.scalar(low_value)
    high = extreme if high_value is None else edit.scalar(high_value)
    return None if low is None or high is None else Bounds(x, low, high)


def min_max_bounds(node: Node, edit: Edit) -> Bounds | None:
    """A Max or Min of a tensor and a constant number that does not broadcast it."""
    if len(node.inputs) != 2:
        return None
    for x, other in (node.inputs, node.inputs[::-1]):
        number, rank = edit.scalar(other), edit.rank(other)
        if x is None or number is None or rank is None:
            continue
        if rank == 0 or rank <= (edit.rank(x) or 0):
            return Bounds(x, number, math.inf) if node.op_type == "Max" else Bounds(x, -math.inf, number)
    return None


def emit_bounds(node: Node, bounds: Bounds, edit: Edit) -> bool:
    """Replace a node by a Relu or a Clip."""
    assert node.graph is not None, "the node is in a graph"
    if (bounds.low, bounds.high) == (0, math.inf) and edit.can_insert("Relu", node.graph):
        return edit.replace(node, "Relu", [bounds.x])
    operator = edit.operator("", "Clip", edit.imports(node.graph)[""])
    type = edit.type(node.outputs[0])
    assert operator is not None and type is not None, "checked above"
    numbers = {"min": bounds.low, "max": bounds.high}
    if operator.version < 11:
        exact = all(float(np.float32(number)) == number for number in numbers.values())
        return exact and edit.replace(node, "Clip", [bounds.x], numbers)
    stem = node.name or node.outputs[0].name
    constants = [
        edit.make_constant(np.array(number, type.dtype.numpy), f"{stem}/{name}", before=node)
        for name, number in numbers.items()
    ]
    return edit.replace(node, "Clip", [bounds.x, *constants])
