"""fold-constants: what is computed from constants alone is computed once, and becomes a constant.

Before:  g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { a = Neg(w)  y = Add(x, a) }
After:   g (float[2] x) => (float[2] y) <float[2] a = {-1, -2}> { y = Add(x, a) }
Keeps:   random draws; quantised weights as they are; results that would make the file much larger; nodes that fail.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sardonyx._src.dtypes import DataType, nbytes
from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.ir.tensors import Tensor
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.edit import Edit
from sardonyx._src.rewrite.evaluate import evaluated

SHARE = 64  # of what may be added in all, one result may take the 64th part more than the constants that it replaces
STRING = 16  # bytes that a string is taken to have
WIDENS = "DequantizeLinear"  # weights stand narrow in front of it on purpose; engines look for it


@rewrite(phase="simplify")
def fold_constants(node: Node, edit: Edit) -> bool:
    found = edit.meaning(node)
    if found is None or not node.inputs or node.op_type == WIDENS or found.op.is_random or node.subgraphs:
        return False
    tensors = [edit.tensor(v) for v in node.inputs]
    if any(v is not None and t is None for v, t in zip(node.inputs, tensors, strict=True)):
        return False
    wanted = [v for v in node.outputs if v.name]
    growth = growth_of(node, wanted, tensors, edit)
    if growth is None or growth > edit.growth // SHARE or edit.grown + growth > edit.growth:
        return False
    results = evaluated(node, edit.imports_of(node), tensors)
    if results is None or not all(isinstance(r, np.ndarray) for r in results):
        return False
    done = False
    for value, result in zip(wanted, results, strict=True):
        assert isinstance(result, np.ndarray), "looked at above"
        done |= edit.become_constant(value, Tensor.of(result))
    edit.grown += growth if done else 0
    return done


def growth_of(
    node: Node, wanted: Sequence[Value], tensors: Sequence[Tensor | None], edit: Edit
) -> int | None:
    """Bytes that the results take more than the constants that go; None where they are not known beforehand."""
    total = 0
    for value in wanted:
        found = edit.type(value)
        if found is None or found.shape is None:
            return None
        sizes = [d for d in found.shape if isinstance(d, int)]
        if len(sizes) != len(found.shape):
            return None
        total += bytes_of(found.dtype, math.prod(sizes))
    goes = {v: t for v, t in zip(node.inputs, tensors, strict=True) if v is not None and edit.is_read_once(v)}
    return total - sum(t.nbytes for t in goes.values() if t is not None)


def bytes_of(dtype: DataType, count: int) -> int:
    return count * STRING if dtype is DataType.STRING else nbytes(dtype, count)
