"""SX706 product-sizes-differ: the operands of a matrix product or convolution have incompatible shapes.

Clause: Operators.md, MatMul, Gemm, Conv and related operators
Catalogue: OPR-04
Why:    the sizes of the summed axes, such as the channels, are not equal.
Bad:    g (float[2, 3] x, float[4, 5] w) => (float[2, 5] y) { y = MatMul (x, w) }
Good:   g (float[2, 3] x, float[3, 5] w) => (float[2, 5] y) { y = MatMul (x, w) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding
from sardonyx._src.check.type_rules.subjects import TypedNode, type_rule

PRODUCT_OPERATORS = frozenset(
    """
    Conv ConvInteger ConvTranspose DeformConv Gemm MatMul MatMulInteger QLinearConv QLinearMatMul
    """.split()
)


@type_rule("SX706", about=TypedNode, suppressed_by="SX703 SX704 SX221")
def check_product_sizes_differ(typed_node: TypedNode) -> Iterator[Finding]:
    if (
        typed_node.error is not None
        and not typed_node.error.about
        and typed_node.schema.name in PRODUCT_OPERATORS
    ):
        types = ", ".join(str(type or "?") for type in typed_node.inference.inputs)
        yield Finding(
            "",
            f"{typed_node.name}: {typed_node.why} (inputs: {types})",
            "correct the shape of one of the operands",
        )
