"""fuse-clip: bounds in a row become one Clip, or none where a bound is infinite.

Spec:    Relu-6 -13 -14, Clip-6 -11 -12 -13, Max-8 -12 -13, Min-8 -12 -13
Before:  g (float[2] x) => (float[] y) <float six = {6}> { a = Relu(x)  y = Min(a, six) }
After:   g (float[2] x) => (float[] y) <float o = {0}, float six = {6}> { y = Clip(x, o, six) }
Keeps:   bounds that are tensors or may change; what others read in between; every bit but the sign of zeros.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.edit import Edit

FLOATS = ("FLOAT", "FLOAT16", "DOUBLE")


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a node does to x: min(max(x, low), high)."""

    x: Value
    low: float
    high: float


@rewrite(root=("Relu", "Clip", "Max", "Min"), phase="fuse")
def fuse_clip(node: Node, edit: Edit) -> bool:
    outer = bounds_of(node, edit)
    if outer is None or node.graph is None:
        return False
    if (outer.low, outer.high) == (-math.inf, math.inf) and edit.forward(node.outputs[0], outer.x):
        edit.prune(node)
        return True
    first = outer.x.producer
    inner = None if first is None or first.graph is not node.graph else bounds_of(first, edit)
    if inner is None or not edit.is_read_once(outer.x) or not edit.has("Clip", node.graph):
        return False
    low = min(max(min(inner.low, inner.high), outer.low), outer.high)
    high = min(max(inner.high, outer.low), outer.high)
    return put(node, Bounds(inner.x, low, high), edit)


def bounds_of(node: Node, edit: Edit) -> Bounds | None:
    """The bounds that a node sets to floats; None where they are no numbers, or no node of that kind."""
    if node.op_type not in ("Relu", "Clip", "Max", "Min") or not edit.is_a(node, node.op_type):
        return None
    found, x = edit.type(node.outputs[0]), node.inputs[0] if node.inputs else None
    if found is None or found.dtype.name not in FLOATS or x is None:
        return None
    if node.op_type == "Relu":
        return Bounds(x, 0.0, math.inf)
    bounds = clipped(node, x, edit) if node.op_type == "Clip" else bounded(node, edit)
    return None if bounds is None or math.isnan(bounds.low) or math.isnan(bounds.high) else bounds


def clipped(node: Node, x: Value, edit: Edit) -> Bounds | None:
    """A limit that is left out is the element type's extreme: infinities are clipped."""
    found = edit.type(node.outputs[0])
    assert found is not None, "looked at above"
    if edit.version(node) < 11:
        attributes = edit.attributes(node)
        least, greatest = attributes["min"], attributes["max"]
        assert isinstance(least, float) and isinstance(greatest, float), "both have defaults"
        return Bounds(x, least, greatest)
    extreme = float(np.finfo(found.dtype.numpy).max)
    low_value, high_value = ([*node.inputs[1:], None, None])[:2]
    low = -extreme if low_value is None else edit.scalar(low_value)
    high = extreme if high_value is None else edit.scalar(high_value)
    return None if low is None or high is None else Bounds(x, low, high)


def bounded(node: Node, edit: Edit) -> Bounds | None:
    """A Max or Min of one tensor and a number that does not widen it."""
    if len(node.inputs) != 2:
        return None
    for x, other in (node.inputs, node.inputs[::-1]):
        number, rank = edit.scalar(other), edit.rank(other)
        if x is None or number is None or rank is None:
            continue
        if rank == 0 or rank <= (edit.rank(x) or 0):
            return Bounds(x, number, math.inf) if node.op_type == "Max" else Bounds(x, -math.inf, number)
    return None


def put(node: Node, bounds: Bounds, edit: Edit) -> bool:
    """Puts a Relu or a Clip in the place of a node."""
    assert node.graph is not None, "a node that is asked about is in a graph"
    if (bounds.low, bounds.high) == (0, math.inf) and edit.has("Relu", node.graph):
        return edit.replace(node, "Relu", [bounds.x])
    found = edit.operator("", "Clip", edit.imports(node.graph)[""])
    type = edit.type(node.outputs[0])
    assert found is not None and type is not None, "looked at above"
    numbers = {"min": bounds.low, "max": bounds.high}
    if found.version < 11:
        exact = all(float(np.float32(number)) == number for number in numbers.values())
        return exact and edit.replace(node, "Clip", [bounds.x], numbers)
    stem = node.name or node.outputs[0].name
    constants = [
        edit.constant_of(np.array(number, type.dtype.numpy), f"{stem}/{name}", before=node)
        for name, number in numbers.items()
    ]
    return edit.replace(node, "Clip", [bounds.x, *constants])
