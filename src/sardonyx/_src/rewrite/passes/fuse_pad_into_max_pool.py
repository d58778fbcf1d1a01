"""fuse-pad-into-max-pool: move padding that cannot exceed a maximum into the pads of a MaxPool.

Spec:    Pad-2 -11 -13 -18 -19 -21 -23 -24 -25, MaxPool-1 -8 -10 -11 -12 -22, Relu-6 -13 -14, Sigmoid-6 -13,
         Concat-4 -11 -13
Before:  g (float[1,1,4] x) => (float[] y) <int64[6] p = {0, 0, 1, 0, 0, 1}> {
           r = Relu(x)  a = Pad(r, p)  y = MaxPool<kernel_shape = [2]>(a)
         }
After:   g (float[1,1,4] x) => (float[] y) { r = Relu(x)  y = MaxPool<kernel_shape = [2], pads = [1, 1]>(r) }
Keeps:   zero padding of values that may be negative; padding as wide as a window; results exactly, except the sign of zeros.
"""

from __future__ import annotations

import math

from sardonyx._src.ir import Node, Value
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.support.padding import padding_of

MAX_SIGN_SEARCH_DEPTH = 4  # nodes visited to prove a value nonnegative


@rewrite(root="MaxPool", phase="fuse")
def fuse_pad_into_max_pool(node: Node, edit: Edit) -> bool:
    if not edit.is_a(node, "MaxPool") or len(node.outputs) != 1 or node.inputs[0] is None:
        return False
    pad = edit.producer(node.inputs[0], "Pad")
    if pad is None or not edit.has_one_use(node.inputs[0]):
        return False
    padding = padding_of(pad, edit)
    if padding is None or not is_lower_bound(padding.number, pad.inputs[0], edit):
        return False
    rank = len(padding.counts) // 2
    begins, ends = padding.counts[:rank], padding.counts[rank:]
    pads = add_pads(node, (*begins[2:], *ends[2:]), edit)
    if any(begins[:2]) or any(ends[:2]) or pads is None:
        return False
    edit.update(node, inputs=[pad.inputs[0]], pads=pads, auto_pad=None)
    return True


def add_pads(node: Node, more: tuple[int, ...], edit: Edit) -> list[int] | None:
    """The pool's pads plus `more`; None if a window could contain only padding, or output lengths are rounded up."""
    attributes = edit.attributes(node)
    kernel, dilations = attributes["kernel_shape"], attributes.get("dilations")
    own = attributes.get("pads") or (0,) * len(more)
    if attributes["auto_pad"] == "VALID":
        own = (0,) * len(more)
    elif attributes["auto_pad"] != "NOTSET":
        return None
    if attributes.get("ceil_mode") or not isinstance(kernel, tuple):
        return None
    if isinstance(dilations, tuple) and any(d != 1 for d in dilations):
        return None
    assert isinstance(own, tuple), "pads is a list"
    pads = [a + b for a, b in zip(own, more, strict=True)]
    return pads if all(n < size for n, size in zip(pads, kernel * 2, strict=True)) else None


def is_lower_bound(number: float, value: Value | None, edit: Edit) -> bool:
    """Whether no element of a value is below a number."""
    return number == -math.inf or (number <= 0 and is_nonnegative(value, edit, MAX_SIGN_SEARCH_DEPTH))


def is_nonnegative(value: Value | None, edit: Edit, depth: int) -> bool:
    """Whether it is proved that no element is negative."""
    node = None if value is None else value.producer
    if node is None or depth == 0:
        return False
    if edit.is_a(node, "Relu") or edit.is_a(node, "Sigmoid"):
        return True
    if edit.is_a(node, "MaxPool"):
        return node.outputs[0] is value and is_nonnegative(node.inputs[0], edit, depth - 1)
    return edit.is_a(node, "Concat") and all(is_nonnegative(v, edit, depth - 1) for v in node.inputs)
