"""drop-casts: of two Casts in a row the first goes, where it loses nothing.

Spec:    Cast-6 -9 -13 -19 -21 -23 -24 -25 -28
Before:  g (int8[2] x) => (float16[] y) { a = Cast<to = 1>(x)  y = Cast<to = 10>(a) }
After:   g (int8[2] x) => (float16[] y) { y = Cast<to = 10>(x) }
Keeps:   Casts that round, cut off, or make or read strings; every bit.
"""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Node
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.edit import Edit

DIGITS = {"FLOAT": 24, "DOUBLE": 53, "FLOAT16": 11, "BFLOAT16": 8}  # of the significand, in bits
WIDER = {"FLOAT16": ("FLOAT", "DOUBLE"), "BFLOAT16": ("FLOAT", "DOUBLE"), "FLOAT": ("DOUBLE",), "DOUBLE": ()}


@rewrite(root="Cast", phase="simplify")
def drop_casts(node: Node, edit: Edit) -> bool:
    if not edit.is_a(node, "Cast") or not node.inputs:
        return False
    inner = edit.producer(node.inputs[0], "Cast")
    if inner is None or not inner.inputs or inner.inputs[0] is None:
        return False
    given, between, made = (edit.type(v) for v in (inner.inputs[0], node.inputs[0], node.outputs[0]))
    if given is None or between is None or made is None or made.dtype is DataType.STRING:
        return False
    if not loses_nothing(given.dtype, between.dtype):
        return False
    edit.update(node, inputs=[inner.inputs[0]])
    return True


def loses_nothing(given: DataType, made: DataType) -> bool:
    """Whether the second type holds every value of the first."""
    if given is made:
        return given is not DataType.STRING
    if made.name in DIGITS:
        return (
            integer_bits(given) <= DIGITS[made.name]
            if is_whole(given)
            else made.name in WIDER.get(given.name, ())
        )
    if not (is_whole(given) and made.is_integer):
        return False
    if made.is_signed:
        return integer_bits(given) < made.bits
    return not (given.is_integer and given.is_signed) and integer_bits(given) <= made.bits


def is_whole(dtype: DataType) -> bool:
    return dtype.is_integer or dtype is DataType.BOOL


def integer_bits(dtype: DataType) -> int:
    """Bits of the largest magnitude."""
    if dtype is DataType.BOOL:
        return 1
    return dtype.bits - 1 if dtype.is_signed else dtype.bits
