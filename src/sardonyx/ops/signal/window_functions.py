"""HannWindow, HammingWindow, BlackmanWindow: windows that are sums of a few cosines.

Spec: ai.onnx HannWindow-17, HammingWindow-17, BlackmanWindow-17; the coefficients are those of the paper that they
name and of their function bodies.  A periodic window is the symmetric one of one element more without its last.
The symmetric window of one element, for which the formula divides by zero, is its peak.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sardonyx.ir.tensors import Array
from sardonyx.ir.types import TensorType
from sardonyx.ops.api import Call, Operator, claim
from sardonyx.ops.inference import Inference, Result
from sardonyx.ops.signal.output_type import converted, output_type, told_type, told_whole, whole

# Factors of cos(0), -cos(x), cos(2x).
COEFFICIENTS = {
    "HannWindow": (0.5, 0.5),
    "HammingWindow": (25 / 46, 21 / 46),
    "BlackmanWindow": (0.42, 0.5, 0.08),
}


def infer(t: Inference) -> Result:
    return TensorType(told_type(t), (told_whole(t, 0, "size", least=0),))


def window(coefficients: Sequence[float]) -> Callable[..., Array]:
    def evaluate(size: Array, *, periodic: int, output_datatype: int, call: Call) -> Array:
        """size: one int32 or int64; result: [size]."""
        count, dtype = whole(size, "size", least=0), output_type(output_datatype)
        claim(call, [count], np.float64, "the window")
        steps = count if periodic else count - 1
        angles = 2 * np.pi * np.arange(count) / steps if steps > 0 else np.full(count, np.pi)
        terms = [(-1) ** k * factor * np.cos(k * angles) for k, factor in enumerate(coefficients)]
        return converted(sum(terms, np.zeros(count)), dtype)

    return evaluate


for name, coefficients in COEFFICIENTS.items():
    op = Operator(name, tolerance="rounding")
    op.infer(17)(infer)
    op.eval(17)(window(coefficients))
