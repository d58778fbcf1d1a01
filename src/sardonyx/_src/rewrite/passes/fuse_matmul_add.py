"""fuse-matmul-add: a product of two matrices and what is added to it become one Gemm.

Spec:    MatMul-1 -9 -13, Add-7 -13 -14, Gemm-7 -9 -11 -13
Before:  a = MatMul(x, w)  y = Add(a, b)
After:   y = Gemm(x, w, b)
Keeps:   products of more than two axes, and those read elsewhere; results up to rounding.
"""

from __future__ import annotations

from sardonyx._src.rewrite.api import Bindings, pattern
from sardonyx._src.rewrite.match import Match


@pattern(phase="fuse")
def fuse_matmul_add(m: Match) -> Bindings | None:
    if m.rank("x") != 2 or m.rank("w") != 2:
        return None
    product, total = m.edit.shape(m.value("a")), m.edit.shape(m.root.outputs[0])
    known = product is not None and product == total and None not in product
    return {} if known else None
