"""fuse-gemm-add: what is added to a product of matrices without a third operand becomes that operand.

Spec:    Gemm-7 -9 -11 -13, Add-7 -13 -14
Before:  a = Gemm<alpha = @alpha, transA = @s, transB = @t, beta = @unused>(x, w)  y = Add(a, b)
or
         a = Gemm<alpha = @alpha, transA = @s, transB = @t, beta = 0.0>(x, w, c)  y = Add(a, b)
After:   y = Gemm<alpha = @alpha, transA = @s, transB = @t>(x, w, b)
Keeps:   products read elsewhere; what widens the result; results up to rounding.
"""

from __future__ import annotations

from sardonyx._src.rewrite.api import Bindings, pattern
from sardonyx._src.rewrite.match import Match


@pattern(phase="fuse")
def fuse_gemm_add(m: Match) -> Bindings | None:
    product, total, rank = m.edit.shape(m.value("a")), m.edit.shape(m.root.outputs[0]), m.rank("b")
    known = product is not None and product == total and None not in product
    return {} if known and rank is not None and rank <= 2 else None
