"""Reductions in terms of ReduceSum and ReduceMax: the bodies of those that the specification defines by functions.

Norms and logarithms of narrow floats are computed as float, those of integers as double, so that no sum on the way
overflows where the result would not.  Squares of integers wrap around first.
"""

from __future__ import annotations

from sardonyx._src.ops.body_text import element_type, scalar, wide_float
from sardonyx._src.ops.inference import Inference


def how(t: Inference) -> str:
    """The attributes of the call as those of the node that reduces."""
    kept, left = t.integer("keepdims"), t.integer("noop_with_empty_axes")
    return f"<keepdims = {kept}, noop_with_empty_axes = {left}>"


def sum_of_magnitudes(t: Inference) -> str:
    return f"(x, axes) => (y) {{ size = Abs(x)  y = ReduceSum {how(t)} (size, axes) }}"


def sum_of_squares(t: Inference) -> str:
    return f"(x, axes) => (y) {{ square = Mul(x, x)  y = ReduceSum {how(t)} (square, axes) }}"


def root_of_squares(t: Inference) -> str:
    dtype = element_type(t)
    wide = wide_float(dtype)
    first, then = (dtype, wide) if dtype.is_integer else (wide, wide)
    return f"""(x, axes) => (y) {{
      number = Cast <to = {int(first)}> (x)
      square = Mul(number, number)
      sum = ReduceSum {how(t)} (square, axes)
      real = Cast <to = {int(then)}> (sum)
      root = Sqrt(real)
      y = Cast <to = {int(dtype)}> (root)
    }}"""


def log_of_sum(t: Inference) -> str:
    dtype = element_type(t)
    return f"""(x, axes) => (y) {{
      number = Cast <to = {int(wide_float(dtype))}> (x)
      sum = ReduceSum {how(t)} (number, axes)
      log = Log(sum)
      y = Cast <to = {int(dtype)}> (log)
    }}"""


def log_of_exponentials(t: Inference) -> str:
    """The greatest element leaves the sum, unless it is infinite, so that no exponential overflows."""
    dtype = element_type(t)
    wide = wide_float(dtype)
    left = t.integer("noop_with_empty_axes")
    return f"""(x, axes) => (y) {{
      zero = {scalar(0, wide)}
      number = Cast <to = {int(wide)}> (x)
      top = ReduceMax <noop_with_empty_axes = {left}> (number, axes)
      is_infinite = IsInf(top)
      finite = Where(is_infinite, zero, top)
      shifted = Sub(number, finite)
      power = Exp(shifted)
      sum = ReduceSum {how(t)} (power, axes)
      log = Log(sum)
      shape = Shape(log)
      shift = Reshape <allowzero = 1> (finite, shape)
      moved = Add(log, shift)
      y = Cast <to = {int(dtype)}> (moved)
    }}"""
