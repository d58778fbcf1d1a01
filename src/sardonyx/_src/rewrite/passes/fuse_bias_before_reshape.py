"""fuse-bias-before-reshape: move a bias from after the Reshape of a matrix product into the product.

Spec:    MatMul-1 -9 -13, Reshape-5 -13 -14 -19 -21 -23 -24 -25, Add-7 -13 -14, Gemm-7 -9 -11 -13
Before:  p = MatMul(x, w)  r = Reshape(p, s)  y = Add(r, b)
After:   q = Gemm(x, w, b)  y = Reshape(q, s)
Keeps:   products of rank > 2; Reshapes that change the last axis; biases of rank > 1; results up to rounding.
"""

from __future__ import annotations

from sardonyx._src.rewrite.api import Bindings, pattern
from sardonyx._src.rewrite.engine.match import Match


@pattern(phase="fuse")
def fuse_bias_before_reshape(match: Match) -> Bindings | None:
    product, shape = match.edit.shape(match.value("p")), match.edit.shape(match.value("r"))
    if (
        match.rank("x") != 2
        or match.rank("w") != 2
        or not product
        or not shape
        or match.rank("b") not in (0, 1)
    ):
        return None
    keeps_last = product[-1] is not None and product[-1] == shape[-1]
    return (
        {} if keeps_last and match.edit.shape(match.root.outputs[0]) == shape and None not in shape else None
    )
