"""fuse-bias-into-summand: move the bias of a sum of two matrix products into the inner product.

Spec:    MatMul-1 -9 -13, Add-7 -13 -14, Gemm-7 -9 -11 -13
Before:  p = MatMul(h, u)  q = Gemm<alpha = @alpha, transA = @ta, transB = @tb>(x, w, p)  y = Add(q, b)
After:   p = Gemm(h, u, b)  y = Gemm<alpha = @alpha, transA = @ta, transB = @tb>(x, w, p)
Keeps:   products that are broadcast, or have other uses; biases of rank > 1; results up to rounding.
"""

from __future__ import annotations

from sardonyx._src.rewrite.api import Bindings, pattern
from sardonyx._src.rewrite.engine.match import Match


@pattern(phase="fuse")
def fuse_bias_into_summand(match: Match) -> Bindings | None:
    inner, outer = match.edit.shape(match.value("p")), match.edit.shape(match.value("q"))
    if (
        match.rank("h") != 2
        or match.rank("u") != 2
        or match.rank("b") not in (0, 1)
        or inner is None
        or None in inner
    ):
        return None
    return {} if inner == outer == match.edit.shape(match.root.outputs[0]) else None
