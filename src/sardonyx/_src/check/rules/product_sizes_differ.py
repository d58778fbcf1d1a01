"""SX706 product-sizes-differ: the operands of a matrix product or convolution do not fit each other.

Clause: Operators.md, MatMul, Gemm, Conv and their kin
Catalogue: OPR-04
Why:    the sizes to be summed over, the channels, are not the same.
Bad:    g (float[2, 3] x, float[4, 5] w) => (float[2, 5] y) { y = MatMul (x, w) }
Good:   g (float[2, 3] x, float[3, 5] w) => (float[2, 5] y) { y = MatMul (x, w) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding
from sardonyx._src.check.uses import Use, typed

PRODUCTS = frozenset(
    """
    Conv ConvInteger ConvTranspose DeformConv Gemm MatMul MatMulInteger QLinearConv QLinearMatMul
    """.split()
)


@typed("SX706", about=Use, unless="SX703 SX704 SX221")
def product_sizes_differ(use: Use) -> Iterator[Finding]:
    if use.fault is not None and not use.fault.about and use.schema.name in PRODUCTS:
        types = ", ".join(str(type or "?") for type in use.given.inputs)
        yield Finding(
            "", f"{use.name}: {use.why} (inputs: {types})", "correct the shape of one of the operands"
        )
