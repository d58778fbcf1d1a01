"""HannWindow, HammingWindow, BlackmanWindow: windows that are sums of a few cosines.

Spec: ai.onnx HannWindow-17, HammingWindow-17, BlackmanWindow-17; the coefficients are those of the paper that it cites, and of
its function bodies.  A periodic window is a symmetric window with one more element, without the last element.  The symmetric
window of one element, for which the formula divides by zero, is the peak.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import BodyFacet, Operator, RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.signal.output_type import (
    convert_output,
    inferred_output_type,
    known_integer,
    output_type,
    read_integer,
)
from sardonyx._src.ops.support.body_text import scalar

# Factors of cos(0), -cos(x), cos(2x).
COEFFICIENTS = {
    "HannWindow": (0.5, 0.5),
    "HammingWindow": (25 / 46, 21 / 46),
    "BlackmanWindow": (0.42, 0.5, 0.08),
}


def infer(inference: Inference) -> Result:
    return TensorType(inferred_output_type(inference), (known_integer(inference, 0, "size", minimum=0),))


def window(coefficients: Sequence[float]) -> Callable[..., Array]:
    def evaluate(size: Array, *, periodic: int, output_datatype: int, context: RunContext) -> Array:
        """size: one int32 or int64; result: [size]."""
        count, dtype = read_integer(size, "size", minimum=0), output_type(output_datatype)
        check_result_bytes(context, [count], np.float64, "the window")
        steps = count if periodic else count - 1
        angles = 2 * np.pi * np.arange(count) / steps if steps > 0 else np.full(count, np.pi)
        terms = [(-1) ** k * factor * np.cos(k * angles) for k, factor in enumerate(coefficients)]
        return convert_output(sum(terms, np.zeros(count)), dtype)

    return evaluate


def body(coefficients: Sequence[float]) -> BodyFacet:
    def text(inference: Inference) -> str:
        """The body measures angles from the peak, where every term is positive, and truncates float32 to integers."""
        dtype = inferred_output_type(inference)
        count = len(coefficients)
        terms = [cosine(k, coefficients[k]) for k in reversed(range(1, count))]
        real = DataType.FLOAT if dtype.is_integer else dtype
        return f"""(size) => (y) {{
      one = {scalar(1, DataType.INT64)}
      two = {scalar(2, DataType.INT64)}
      pi = {scalar(math.pi, DataType.DOUBLE)}
      count = Cast <to = {int(DataType.INT64)}> (size)
      steps = {"Identity(count)" if inference.integer("periodic") else "Sub(count, one)"}
      first = Neg(steps)
      twice = Mul(two, count)
      last = Add(first, twice)
      places = Range(first, last, two)
      parts = Max(steps, one)
      dividend = Cast <to = {int(DataType.DOUBLE)}> (places)
      divisor = Cast <to = {int(DataType.DOUBLE)}> (parts)
      turns = Div(dividend, divisor)
      angles = Mul(pi, turns)
      sum_{count} = {scalar(coefficients[0], DataType.DOUBLE)}{"".join(terms)}
      real = Cast <to = {int(real)}> (sum_1)
      y = Cast <to = {int(dtype)}> (real)
    }}"""

    return text


def cosine(k: int, factor: float) -> str:
    """The nodes that add factor * cos(k * angles).  Terms are added from the last k down, so that the peak is exactly 1."""
    return f"""
      times_{k} = {scalar(k, DataType.DOUBLE)}
      angles_{k} = Mul(times_{k}, angles)
      cosine_{k} = Cos(angles_{k})
      factor_{k} = {scalar(factor, DataType.DOUBLE)}
      term_{k} = Mul(factor_{k}, cosine_{k})
      sum_{k} = Add(sum_{k + 1}, term_{k})"""


WINDOW_DESCRIPTIONS = {
    "HannWindow": "half of 1 - cos(x) from one end to the other, which falls to 0 at both.",
    "HammingWindow": "a raised cosine whose ends are at 4 / 46, where the nearest side lobe is least.",
    "BlackmanWindow": "a sum of two cosines, which falls to 0 at both ends more smoothly than one does.",
}
for name, coefficients in COEFFICIENTS.items():
    op = Operator(name, tolerance="rounding", about=WINDOW_DESCRIPTIONS[name], parameters=(0,))
    op.infer(17)(infer)
    op.eval(17)(window(coefficients))
    op.body(17, opset=13)(body(coefficients))
