"""Bodies of the reductions that the specification defines by functions, in terms of ReduceSum and ReduceMax.

Norms and logarithms are computed as float for narrow floats and as double for integers, so that no intermediate sum
overflows if the result does not.  Squares and sums of squares of integers wrap around before.
"""

from __future__ import annotations

from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.support.body_text import element_type, promoted_type, scalar


def reduce_attributes(inference: Inference) -> str:
    """The attributes of the reducing node in the body: those of the node that the body replaces."""
    keepdims, noop = inference.integer("keepdims"), inference.integer("noop_with_empty_axes")
    return f"<keepdims = {keepdims}, noop_with_empty_axes = {noop}>"


def sum_of_magnitudes(inference: Inference) -> str:
    return f"(x, axes) => (y) {{ size = Abs(x)  y = ReduceSum {reduce_attributes(inference)} (size, axes) }}"


def sum_of_squares(inference: Inference) -> str:
    return f"(x, axes) => (y) {{ square = Mul(x, x)  y = ReduceSum {reduce_attributes(inference)} (square, axes) }}"


def root_of_squares(inference: Inference) -> str:
    dtype = element_type(inference)
    wide = promoted_type(dtype)
    square_type = dtype if dtype.is_integer else wide
    return f"""(x, axes) => (y) {{
      number = Cast <to = {int(square_type)}> (x)
      square = Mul(number, number)
      sum = ReduceSum {reduce_attributes(inference)} (square, axes)
      real = Cast <to = {int(wide)}> (sum)
      root = Sqrt(real)
      y = Cast <to = {int(dtype)}> (root)
    }}"""


def log_of_sum(inference: Inference) -> str:
    dtype = element_type(inference)
    return f"""(x, axes) => (y) {{
      number = Cast <to = {int(promoted_type(dtype))}> (x)
      sum = ReduceSum {reduce_attributes(inference)} (number, axes)
      log = Log(sum)
      y = Cast <to = {int(dtype)}> (log)
    }}"""


def log_of_exponentials(inference: Inference) -> str:
    """The greatest element is factored out, unless it is infinite, so that no exponential overflows."""
    dtype = element_type(inference)
    wide = promoted_type(dtype)
    noop = inference.integer("noop_with_empty_axes")
    return f"""(x, axes) => (y) {{
      zero = {scalar(0, wide)}
      number = Cast <to = {int(wide)}> (x)
      top = ReduceMax <noop_with_empty_axes = {noop}> (number, axes)
      is_infinite = IsInf(top)
      finite = Where(is_infinite, zero, top)
      shifted = Sub(number, finite)
      power = Exp(shifted)
      sum = ReduceSum {reduce_attributes(inference)} (power, axes)
      log = Log(sum)
      shape = Shape(log)
      shift = Reshape <allowzero = 1> (finite, shape)
      moved = Add(log, shift)
      y = Cast <to = {int(dtype)}> (moved)
    }}"""
