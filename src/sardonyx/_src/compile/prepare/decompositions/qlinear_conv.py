"""QLinearConv as a ConvInteger; its sums are multiplied by the scales in float64 and rounded once.

Only for weights that exceed int8 once their zero points are subtracted, and for parameters that a run computes.  The
kernel of integer convolutions supports all other nodes.
"""

from __future__ import annotations

from math import prod

from sardonyx._src.compile.prepare.decompositions import conv_integer
from sardonyx._src.compile.prepare.decompositions.qlinear_matmul import MAX_TERMS, RANGES
from sardonyx._src.compile.prepare.decompositions.text import inline_text
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node
from sardonyx._src.rewrite.engine.edit import Edit

REQUANTIZE = """(x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, b) => (y) {{
  sums = ConvInteger {window} (x, w, x_zero, w_zero)  wide = Cast <to = {double}> (sums)
  column = Constant <value = int64[{rank}] {{{column}}}> ()  {bias}
  factors = Cast <to = {double}> (w_scale)  factor = Reshape(factors, column)
  left = Cast <to = {double}> (x_scale)  scales = Mul(factor, left)  divisor = Cast <to = {double}> (y_scale)
  quotient = Div(scales, divisor)  scaled = Mul(biased, quotient)  rounded = Round(scaled)
  zero = Cast <to = {double}> (y_zero)  shifted = Add(rounded, zero)
  low = Constant <value = double {{{low}}}> ()  high = Constant <value = double {{{high}}}> ()
  raised = Max(shifted, low)  clipped = Min(raised, high)  y = Cast <to = {to}> (clipped) }}"""
BIAS = "b_wide = Cast <to = {double}> (b)  b_column = Reshape(b_wide, column)  biased = Add(wide, b_column)"


def decompose(node: Node, edit: Edit) -> bool:
    if edit.operator_of(node) is None or len(node.inputs) < 8:
        return False
    x, x_scale, x_zero, w, _, w_zero, y_scale, y_zero = node.inputs[:8]
    bias = node.inputs[8] if len(node.inputs) > 8 else None
    types = [edit.type(value) for value in (x, x_zero, w, w_zero, y_zero)]
    if w is None or any(t is None or t.dtype not in RANGES for t in types):
        return False
    dims = edit.shape(w)
    known = [dim for dim in dims or () if isinstance(dim, int)]
    if dims is None or len(known) < len(dims) or len(dims) < 3 or prod(known[1:]) > MAX_TERMS:
        return False
    if not all(conv_integer.is_number(edit, value) for value in (x_scale, x_zero, y_scale, y_zero)):
        return False
    constants = [value for value in (*node.inputs[1:8], bias) if value is not None]
    if all(value.initializer is not None for value in constants):
        weights, zeros = conv_integer.constant(w), conv_integer.constant(w_zero)
        if weights is None or zeros is None or conv_integer.fits_int8(weights, zeros):
            return False
    result = types[-1]
    assert result is not None, "the types have been checked"
    low, high = (float(limit) for limit in RANGES[result.dtype])
    double, rank = DataType.DOUBLE.value, len(dims) - 1
    text = REQUANTIZE.format(
        window=conv_integer.window_text(edit.attributes(node)),
        double=double,
        rank=rank,
        column=conv_integer.column(rank),
        bias="biased = Identity(wide)" if bias is None else BIAS.format(double=double),
        low=low,
        high=high,
        to=result.dtype.value,
    )
    inline_convolution(node, edit, text)
    return True


def inline_convolution(node: Node, edit: Edit, text: str) -> None:
    """Replaces the node, then decomposes the ConvInteger of the replacement, if it has a decomposition."""
    graph = node.graph
    assert graph is not None, f"{node!r} is in no graph"
    others = {each for each in graph.nodes if each.op_type == "ConvInteger"}
    inline_text(node, edit, text)
    for each in [each for each in graph.nodes if each.op_type == "ConvInteger" and each not in others]:
        conv_integer.decompose(each, edit)
