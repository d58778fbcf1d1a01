"""QLinearMatMul of two computed operands as a product of integers, multiplied by the scales in double and rounded once."""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.prepare.decompositions.text import inline_text
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.ir.tensors import Array, Tensor
from sardonyx._src.rewrite.engine.edit import Edit

LIMITS = {DataType.INT8: (-128, 127), DataType.UINT8: (0, 255)}
MAX_TERMS = ((1 << 31) - 1) // (255 * 255)  # of a sum that is exact in int32
REQUANTIZE = """(a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero) => (y) {{
  sums = MatMulInteger(a, b, a_zero, b_zero)  wide = Cast <to = {double}> (sums)
  left = Cast <to = {double}> (a_scale)  right = Cast <to = {double}> (b_scale)  divisor = Cast <to = {double}> (y_scale)
  scales = Mul(left, right)  factor = Div(scales, divisor)  scaled = Mul(wide, factor)  rounded = Round(scaled)
  zero = Cast <to = {double}> (y_zero)  shifted = Add(rounded, zero)
  low = Constant <value = double {{{low}}}> ()  high = Constant <value = double {{{high}}}> ()
  raised = Max(shifted, low)  clipped = Min(raised, high)  {finite}  y = Cast <to = {to}> ({number}) }}"""
# Scales that a run feeds may make NaN, which becomes the lowest number, as in the reference kernel.
WITHOUT_NAN = "is_nan = IsNaN(clipped)  number = Where(is_nan, low, clipped)"


def decompose(node: Node, edit: Edit) -> bool:
    """Only for scalar scales and zero points; the kernel of a constant right operand reads it with constant ones."""
    if edit.operator_of(node) is None or len(node.inputs) < 8:
        return False
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = node.inputs[:8]
    types = [edit.type(value) for value in (a, a_zero, b, b_zero, y_zero)]
    if all(value is not None and value.initializer is not None for value in node.inputs[1:8]):
        return False
    if any(t is None or t.dtype not in LIMITS for t in types):
        return False
    shape = edit.shape(a)
    terms = shape[-1] if shape else None
    if not isinstance(terms, int) or terms > MAX_TERMS:
        return False
    scales = (a_scale, b_scale, y_scale)
    if not all(is_scalar(edit, value) for value in (*scales, a_zero, b_zero, y_zero)):
        return False
    (result,) = types[-1:]
    assert result is not None, "the types have been checked"
    low, high = (float(limit) for limit in LIMITS[result.dtype])
    is_finite = all(map(is_usual_scale, scales))
    text = REQUANTIZE.format(
        double=DataType.DOUBLE.value,
        to=result.dtype.value,
        low=low,
        high=high,
        finite="" if is_finite else WITHOUT_NAN,
        number="clipped" if is_finite else "number",
    )
    inline_text(node, edit, text)
    return True


def is_usual_scale(value: Value | None) -> bool:
    """Whether a scale is one constant number whose products and quotients are finite."""
    literal = None if value is None else value.initializer
    if not isinstance(literal, Tensor):
        return False
    elements: Array = literal.numpy().astype(np.float64)
    return elements.size == 1 and elements.ndim <= 1 and bool(1e-30 < abs(elements.item()) < 1e30)


def is_scalar(edit: Edit, value: Value | None) -> bool:
    """Whether a value is a scalar, or a vector of one element."""
    return value is not None and edit.shape(value) in ((), (1,))
