"""fuse-bias-before-reshape: a bias behind the Reshape of a product of matrices goes into the product.

Spec:    MatMul-1 -9 -13, Reshape-5 -13 -14 -19 -21 -23 -24 -25, Add-7 -13 -14, Gemm-7 -9 -11 -13
Before:  p = MatMul(x, w)  r = Reshape(p, s)  y = Add(r, b)
After:   q = Gemm(x, w, b)  y = Reshape(q, s)
Keeps:   products of more than two axes; Reshapes that touch the last axis; biases of more axes; results up to rounding.
"""

from __future__ import annotations

from sardonyx._src.rewrite.api import Bindings, pattern
from sardonyx._src.rewrite.match import Match


@pattern(phase="fuse")
def fuse_bias_before_reshape(m: Match) -> Bindings | None:
    product, shape = m.edit.shape(m.value("p")), m.edit.shape(m.value("r"))
    if m.rank("x") != 2 or m.rank("w") != 2 or not product or not shape or m.rank("b") not in (0, 1):
        return None
    keeps_last = product[-1] is not None and product[-1] == shape[-1]
    return {} if keeps_last and m.edit.shape(m.root.outputs[0]) == shape and None not in shape else None
