"""fuse-transpose-into-gemm: compute the transpose of a product by exchanging its operands.

Spec:    Gemm-7 -9 -11 -13, Transpose-1 -13 -21 -23 -24 -25
Before:  a = Gemm<alpha = @alpha, transA = @s, transB = @t, beta = @unused>(x, w)  y = Transpose<perm = @p>(a)
After:   y = Gemm<alpha = @alpha, transA = @u, transB = @v>(w, x)
Keeps:   products with other uses; constant operands, which are packed where they are; results up to rounding.
"""

from __future__ import annotations

from sardonyx._src.rewrite.api import Bindings, pattern
from sardonyx._src.rewrite.engine.match import Match


@pattern(phase="fuse")
def fuse_transpose_into_gemm(match: Match) -> Bindings | None:
    if match.integers("p") not in (None, (1, 0)):
        return None  # the Transpose changes nothing
    if match.constant("x") is not None or match.constant("w") is not None:
        return None
    return {"u": int(not match.attribute("t")), "v": int(not match.attribute("s"))}
