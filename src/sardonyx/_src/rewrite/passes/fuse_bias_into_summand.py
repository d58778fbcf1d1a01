"""fuse-bias-into-summand: of two products of matrices that are added up, the inner one takes the bias.

Spec:    MatMul-1 -9 -13, Add-7 -13 -14, Gemm-7 -9 -11 -13
Before:  p = MatMul(h, u)  q = Gemm<alpha = @alpha, transA = @ta, transB = @tb>(x, w, p)  y = Add(q, b)
After:   p = Gemm(h, u, b)  y = Gemm<alpha = @alpha, transA = @ta, transB = @tb>(x, w, p)
Keeps:   products that are stretched, or read elsewhere; biases of more axes; results up to rounding.
"""

from __future__ import annotations

from sardonyx._src.rewrite.api import Bindings, pattern
from sardonyx._src.rewrite.match import Match


@pattern(phase="fuse")
def fuse_bias_into_summand(m: Match) -> Bindings | None:
    inner, outer = m.edit.shape(m.value("p")), m.edit.shape(m.value("q"))
    if m.rank("h") != 2 or m.rank("u") != 2 or m.rank("b") not in (0, 1) or inner is None or None in inner:
        return None
    return {} if inner == outer == m.edit.shape(m.root.outputs[0]) else None
