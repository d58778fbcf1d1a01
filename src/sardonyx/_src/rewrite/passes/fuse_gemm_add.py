"""fuse-gemm-add: fuse an Add into a Gemm without a third operand.

Spec:    Gemm-7 -9 -11 -13, Add-7 -13 -14
Before:  a = Gemm<alpha = @alpha, transA = @s, transB = @t, beta = @unused>(x, w)  y = Add(a, b)
or
         a = Gemm<alpha = @alpha, transA = @s, transB = @t, beta = 0.0>(x, w, c)  y = Add(a, b)
After:   y = Gemm<alpha = @alpha, transA = @s, transB = @t>(x, w, b)
Keeps:   products with other uses; operands that broadcast the result; results up to rounding.
"""

from __future__ import annotations

from sardonyx._src.rewrite.api import Bindings, pattern
from sardonyx._src.rewrite.engine.match import Match


@pattern(phase="fuse")
def fuse_gemm_add(match: Match) -> Bindings | None:
    product, total, rank = (
        match.edit.shape(match.value("a")),
        match.edit.shape(match.root.outputs[0]),
        match.rank("b"),
    )
    known = product is not None and product == total and None not in product
    return {} if known and rank is not None and rank <= 2 else None
