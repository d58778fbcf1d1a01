"""Bodies of the reductions that the specification defines by functions, in terms of ReduceSum and ReduceMax.

Norms and logarithms of narrow floats are computed as float, those of integers as double, so that no intermediate
sum overflows if the result does not.  Squares of integers wrap around first.
"""

from __future__ import annotations

from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.support.body_text import element_type, promoted_type, scalar


def how(inference: Inference) -> str:
    """The attributes of the call, for the node that reduces."""
    keepdims, noop = inference.integer("keepdims"), inference.integer("noop_with_empty_axes")
    return f"<keepdims = {keepdims}, noop_with_empty_axes = {noop}>"


def sum_of_magnitudes(inference: Inference) -> str:
    return f"(x, axes) => (y) {{ size = Abs(x)  y = ReduceSum {how(inference)} (size, axes) }}"


def sum_of_squares(inference: Inference) -> str:
    return f"(x, axes) => (y) {{ square = Mul(x, x)  y = ReduceSum {how(inference)} (square, axes) }}"


def root_of_squares(inference: Inference) -> str:
    dtype = element_type(inference)
    wide = promoted_type(dtype)
    first, then = (dtype, wide) if dtype.is_integer else (wide, wide)
    return f"""(x, axes) => (y) {{
      number = Cast <to = {int(first)}> (x)
      square = Mul(number, number)
      sum = ReduceSum {how(inference)} (square, axes)
      real = Cast <to = {int(then)}> (sum)
      root = Sqrt(real)
      y = Cast <to = {int(dtype)}> (root)
    }}"""


def log_of_sum(inference: Inference) -> str:
    dtype = element_type(inference)
    return f"""(x, axes) => (y) {{
      number = Cast <to = {int(promoted_type(dtype))}> (x)
      sum = ReduceSum {how(inference)} (number, axes)
      log = Log(sum)
      y = Cast <to = {int(dtype)}> (log)
    }}"""


def log_of_exponentials(inference: Inference) -> str:
    """The greatest element is factored out, unless it is infinite, so that no exponential overflows."""
    dtype = element_type(inference)
    wide = promoted_type(dtype)
    left = inference.integer("noop_with_empty_axes")
    return f"""(x, axes) => (y) {{
      zero = {scalar(0, wide)}
      number = Cast <to = {int(wide)}> (x)
      top = ReduceMax <noop_with_empty_axes = {left}> (number, axes)
      is_infinite = IsInf(top)
      finite = Where(is_infinite, zero, top)
      shifted = Sub(number, finite)
      power = Exp(shifted)
      sum = ReduceSum {how(inference)} (power, axes)
      log = Log(sum)
      shape = Shape(log)
      shift = Reshape <allowzero = 1> (finite, shape)
      moved = Add(log, shift)
      y = Cast <to = {int(dtype)}> (moved)
    }}"""
