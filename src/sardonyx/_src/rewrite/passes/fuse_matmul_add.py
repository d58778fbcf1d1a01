"""fuse-matmul-add: fuse MatMul of two matrices and Add into Gemm.

Spec:    MatMul-1 -9 -13, Add-7 -13 -14, Gemm-7 -9 -11 -13
Before:  a = MatMul(x, w)  y = Add(a, b)
After:   y = Gemm(x, w, b)
Keeps:   products of rank > 2, and those with other uses; results up to rounding.
"""

from __future__ import annotations

from sardonyx._src.rewrite.api import Bindings, pattern
from sardonyx._src.rewrite.engine.match import Match


@pattern(phase="fuse")
def fuse_matmul_add(match: Match) -> Bindings | None:
    if match.rank("x") != 2 or match.rank("w") != 2:
        return None
    product, total = match.edit.shape(match.value("a")), match.edit.shape(match.root.outputs[0])
    known = product is not None and product == total and None not in product
    return {} if known else None
