"""drop-casts: remove the first of two successive Casts, if it is lossless.

Spec:    Cast-6 -9 -13 -19 -21 -23 -24 -25 -28
Before:  g (int8[2] x) => (float16[] y) { a = Cast<to = 1>(x)  y = Cast<to = 10>(a) }
After:   g (int8[2] x) => (float16[] y) { y = Cast<to = 10>(x) }
Keeps:   Casts that round, truncate, or convert from or to strings; results exactly.
"""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit

SIGNIFICAND_BITS = {
    "FLOAT": 24,
    "DOUBLE": 53,
    "FLOAT16": 11,
    "BFLOAT16": 8,
}  # including the implicit leading bit
WIDER_FLOATS = {
    "FLOAT16": ("FLOAT", "DOUBLE"),
    "BFLOAT16": ("FLOAT", "DOUBLE"),
    "FLOAT": ("DOUBLE",),
    "DOUBLE": (),
}


@rewrite(root="Cast", phase="simplify")
def drop_casts(node: Node, edit: Edit) -> bool:
    if not edit.is_a(node, "Cast") or not node.inputs:
        return False
    inner = edit.producer(node.inputs[0], "Cast")
    if inner is None or not inner.inputs or inner.inputs[0] is None:
        return False
    source, middle, result = (edit.type(v) for v in (inner.inputs[0], node.inputs[0], node.outputs[0]))
    if source is None or middle is None or result is None or result.dtype is DataType.STRING:
        return False
    if not is_lossless(source.dtype, middle.dtype):
        return False
    edit.update(node, inputs=[inner.inputs[0]])
    return True


def is_lossless(source: DataType, target: DataType) -> bool:
    """Whether the target type represents every value of the source type."""
    if source is target:
        return source is not DataType.STRING
    if target.name in SIGNIFICAND_BITS:
        return (
            integer_bits(source) <= SIGNIFICAND_BITS[target.name]
            if is_whole(source)
            else target.name in WIDER_FLOATS.get(source.name, ())
        )
    if not (is_whole(source) and target.is_integer):
        return False
    if target.is_signed:
        return integer_bits(source) < target.bits
    return not (source.is_integer and source.is_signed) and integer_bits(source) <= target.bits


def is_whole(dtype: DataType) -> bool:
    return dtype.is_integer or dtype is DataType.BOOL


def integer_bits(dtype: DataType) -> int:
    """The number of bits of the largest magnitude."""
    if dtype is DataType.BOOL:
        return 1
    return dtype.bits - 1 if dtype.is_signed else dtype.bits
