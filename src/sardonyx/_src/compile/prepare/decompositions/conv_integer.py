"""ConvInteger with constant weights that exceed int8 once their zero points are subtracted, and with computed weights.

Such constant weights are shifted into int8, and the contribution of the shift, sums over the windows of x, is
subtracted.  Computed weights are convolved in float32, where sums of few terms are exact.  For more terms, the upper
and the lower bits of the weights are convolved separately.
"""

from __future__ import annotations

from math import prod

import numpy as np

from sardonyx._src.compile.prepare.decompositions.text import inline_text
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Node, Tensor, Value
from sardonyx._src.rewrite.engine.edit import Edit

BYTES = (DataType.UINT8, DataType.INT8)
EXACT = 1 << 24  # float32 represents all integers up to this one
MAX_TERMS, MAX_SPLIT_TERMS = EXACT // (255 * 255), EXACT // (255 * 16)
WINDOW_ATTRIBUTES = ("auto_pad", "dilations", "group", "pads", "strides")

SHIFTED = """(x, w, x_zero, w_zero) => (y) {{
  wide = Cast <to = 6> (w)  offset = Constant <value = int32 {{{offset}}}> ()  centered = Sub(wide, offset)
  bytes = Cast <to = 3> (centered)  dims = Constant <value = int64[{rank}] {{{dims}}}> ()
  ones = ConstantOfShape <value = int8[1] {{1}}> (dims)  sums = ConvInteger {window} (x, bytes, {x_zero})
  boxes = ConvInteger {window} (x, ones, {x_zero})  {zero}  shift = Sub(zero, offset)
  shifts = Mul(boxes, shift)  y = Sub(sums, shifts) }}"""
COMPUTED = """(x, w, x_zero, w_zero) => (y) {{
  x_wide = Cast <to = 1> (x)  w_wide = Cast <to = 1> (w)  {x_difference}  {w_difference}
  {sums} }}"""
WHOLE_SUMS = "sums = Conv {window} (x_number, w_number)  y = Cast <to = 6> (sums)"
SPLIT_SUMS = """sixteen = Constant <value = float {{16}}> ()  part = Div(w_number, sixteen)  high = Floor(part)
  multiple = Mul(high, sixteen)  low = Sub(w_number, multiple)  high_sums = Conv {window} (x_number, high)
  low_sums = Conv {window} (x_number, low)  upper = Cast <to = 6> (high_sums)  lower = Cast <to = 6> (low_sums)
  factor = Constant <value = int32 {{16}}> ()  product = Mul(upper, factor)  y = Add(product, lower)"""
ZERO_DIMS = "zero_dims = Constant <value = int64[{rank}] {{{dims}}}> ()"


def decompose(node: Node, edit: Edit) -> bool:
    """Only for weights of known dims."""
    if edit.operator_of(node) is None:
        return False
    x, w, x_zero, w_zero = (*node.inputs, None, None)[:4]
    types = [edit.type(value) for value in (x, w)]
    dims = edit.shape(w)
    if dims is None or any(t is None or t.dtype not in BYTES for t in types) or len(dims) < 3:
        return False
    known = [dim for dim in dims if isinstance(dim, int) and dim > 0]
    if len(known) < len(dims) or not is_number(edit, x_zero):
        return False
    window = window_text(edit.attributes(node))
    weights, zeros = constant(w), constant(w_zero)
    if weights is not None and (zeros is not None or w_zero is None):
        text = shifted_text(weights, zeros, window, has_x_zero=x_zero is not None)
        is_one_group = edit.attributes(node)["group"] == 1
        text = text if is_one_group else None
    else:
        text = computed_text(known, window, has_zeros=(x_zero is not None, w_zero is not None))
    if text is None:
        return False
    inline_text(node, edit, text)
    return True


def shifted_text(weights: Array, zeros: Array | None, window: str, *, has_x_zero: bool) -> str | None:
    """The function for constant weights; None if the integer convolution supports them as they are."""
    if fits_int8(weights, np.zeros(1, weights.dtype) if zeros is None else zeros):
        return None
    rank, has_zeros = weights.ndim, zeros is not None
    narrow = f"{ZERO_DIMS.format(rank=rank - 1, dims=column(rank - 1))}  zero_wide = Cast <to = 6> (w_zero)"
    return SHIFTED.format(
        offset=128 if weights.dtype == np.uint8 else 0,
        rank=rank,
        dims=", ".join(map(str, (1, *weights.shape[1:]))),
        window=window,
        x_zero="x_zero" if has_x_zero else "",
        zero=f"{narrow}  zero = Reshape(zero_wide, zero_dims)"
        if has_zeros
        else "zero = Constant <value = int32 {0}> ()",
    )


def fits_int8(weights: Array, zeros: Array) -> bool:
    """Whether all weights minus the zero points of their channels fit in int8; True for an invalid number of zero points."""
    if zeros.size not in (1, len(weights)):
        return True  # an error, which the reference kernel reports
    difference = weights.astype(np.int32) - zeros.astype(np.int32).reshape(-1, *(1,) * (weights.ndim - 1))
    return bool(difference.min(initial=0) >= -128 and difference.max(initial=0) <= 127)


def computed_text(dims: list[int], window: str, *, has_zeros: tuple[bool, bool]) -> str | None:
    """The function for computed weights, or computed zero points of weights; None for sums of too many terms."""
    terms, rank = prod(dims[1:]), len(dims)
    if terms > MAX_SPLIT_TERMS:
        return None
    sums = (WHOLE_SUMS if terms <= MAX_TERMS else SPLIT_SUMS).format(window=window)
    of_x = "x_zero_wide = Cast <to = 1> (x_zero)  x_number = Sub(x_wide, x_zero_wide)"
    of_w = f"""{ZERO_DIMS.format(rank=rank, dims=column(rank))}  w_zero_wide = Cast <to = 1> (w_zero)
      w_zeros = Reshape(w_zero_wide, zero_dims)  w_number = Sub(w_wide, w_zeros)"""
    return COMPUTED.format(
        x_difference=of_x if has_zeros[0] else "x_number = Identity(x_wide)",
        w_difference=of_w if has_zeros[1] else "w_number = Identity(w_wide)",
        sums=sums,
    )


def column(rank: int) -> str:
    """The dims that broadcast a number for each output channel."""
    return ", ".join(["-1", *["1"] * (rank - 1)])


def window_text(attributes: dict[str, object]) -> str:
    """The attributes of the window as text; ConvInteger and Conv have the same ones."""
    return f"<{', '.join(f'{key} = {text_of(attributes[key])}' for key in WINDOW_ATTRIBUTES if attributes.get(key) is not None)}>"


def text_of(value: object) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list | tuple) else str(value)


def constant(value: Value | None) -> Array | None:
    literal = None if value is None else value.initializer
    return literal.numpy() if isinstance(literal, Tensor) else None


def is_number(edit: Edit, value: Value | None) -> bool:
    """Whether a value is omitted, a scalar, or a vector of one element."""
    return value is None or edit.shape(value) in ((), (1,))
