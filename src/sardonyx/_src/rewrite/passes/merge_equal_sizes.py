"""merge-equal-sizes: merge small integer tensors that are known to hold the same dims.

Before:  g (float[N,M] x) => (float[] y) <int64[2] i = {0, 1}> {
           s = Shape(x)  a = Reshape(x, s)  t = Gather(s, i)  y = Reshape(a, t)
         }
After:   g (float[N,M] x) => (float[] y) { s = Shape(x)  a = Reshape(x, s)  y = Reshape(a, s) }
Keeps:   names of outputs; tensors with an unknown dim; every element.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Graph, Value
from sardonyx._src.ir.dims import Expr
from sardonyx._src.ir.walk import roots
from sardonyx._src.rewrite.api import sweep
from sardonyx._src.rewrite.engine.edit import Edit

MAX_MERGED_SIZES = 64  # elements of a tensor that is compared


@sweep(phase="simplify")
def merge_equal_sizes(edit: Edit) -> Iterator[str]:
    for root in roots(edit.model):
        if root.function is None:
            yield from merge(root, {}, edit)


def merge(graph: Graph, outer: Mapping[Hashable, Value], edit: Edit) -> Iterator[str]:
    """Merge values of a graph with earlier ones, enclosing graphs included."""
    seen = dict(outer)
    for node in graph.nodes:
        for inner in node.subgraphs:
            yield from merge(inner, seen, edit)
        for value in node.outputs:
            key = key_of(value, edit)
            if key is None:
                continue
            first = seen.setdefault(key, value)
            if first.producer is not None and edit.is_erased(first.producer):  # its node has been merged
                first = seen[key] = value
            if first is not value and edit.is_internal(value) and value._uses:
                edit.replace_uses(value, first)
                edit.prune(node)
                yield f"{node.op_type} {node.name!r}"


def key_of(value: Value, edit: Edit) -> Hashable:
    """A key that is equal for values with equal known elements, some of them symbolic; None for other values."""
    type = edit.type(value)
    if type is None or type.dtype is not DataType.INT64 or type.shape is None:
        return None
    known = edit.elements(value)
    if (
        known is None
        or known.dtype != np.object_
        or known.size > MAX_MERGED_SIZES
        or known.shape != type.shape
    ):
        return None
    elements = tuple(known.reshape(-1).tolist())
    return (known.shape, elements) if all(isinstance(e, Expr | int) for e in elements) else None
