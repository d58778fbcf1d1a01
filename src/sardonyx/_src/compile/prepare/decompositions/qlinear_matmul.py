"""QLinearMatMul with computed scales as a product of integers, which is multiplied by the scales in float64 and rounded once."""

from __future__ import annotations

from sardonyx._src.compile.prepare.decompositions.text import inline_text
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node, Value
from sardonyx._src.rewrite.engine.edit import Edit

RANGES = {DataType.INT8: (-128, 127), DataType.UINT8: (0, 255)}
MAX_TERMS = ((1 << 31) - 1) // (255 * 255)  # a sum of at most this many products of bytes fits in int32
REQUANTIZE = """(a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero) => (y) {{
  sums = MatMulInteger(a, b, a_zero, b_zero)  wide = Cast <to = {double}> (sums)
  left = Cast <to = {double}> (a_scale)  right = Cast <to = {double}> (b_scale)  divisor = Cast <to = {double}> (y_scale)
  scales = Mul(left, right)  factor = Div(scales, divisor)  scaled = Mul(wide, factor)  rounded = Round(scaled)
  zero = Cast <to = {double}> (y_zero)  shifted = Add(rounded, zero)
  low = Constant <value = double {{{low}}}> ()  high = Constant <value = double {{{high}}}> ()
  raised = Max(shifted, low)  clipped = Min(raised, high)
  is_nan = IsNaN(clipped)  number = Where(is_nan, low, clipped)  y = Cast <to = {to}> (number) }}"""  # NaN: the lowest number


def decompose(node: Node, edit: Edit) -> bool:
    """Only for scalar scales and zero points that are not all constant: kernels of integer products support constant ones."""
    if edit.operator_of(node) is None or len(node.inputs) < 8:
        return False
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = node.inputs[:8]
    types = [edit.type(value) for value in (a, a_zero, b, b_zero, y_zero)]
    scales = (a_scale, b_scale, y_scale)
    if all(value is not None and value.initializer is not None for value in (*scales, y_zero)):
        return False
    if any(t is None or t.dtype not in RANGES for t in types):
        return False
    shape = edit.shape(a)
    terms = shape[-1] if shape else None
    if not isinstance(terms, int) or terms > MAX_TERMS:
        return False
    if not all(is_scalar(edit, value) for value in (*scales, a_zero, b_zero, y_zero)):
        return False
    (result,) = types[-1:]
    assert result is not None, "the types have been checked"
    low, high = (float(limit) for limit in RANGES[result.dtype])
    text = REQUANTIZE.format(
        double=DataType.DOUBLE.value,
        to=result.dtype.value,
        low=low,
        high=high,
    )
    inline_text(node, edit, text)
    return True


def is_scalar(edit: Edit, value: Value | None) -> bool:
    """Whether a value is a scalar, or a vector of one element."""
    return value is not None and edit.shape(value) in ((), (1,))
