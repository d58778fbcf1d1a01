"""NonZero: the indices of the nonzero elements of a tensor.

Spec: ai.onnx NonZero-9, -13, which differ in element types.  The empty string counts as zero.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import Dim, Expr, bounds
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.math.ratios import Element, Ratio
from sardonyx._src.ops.tensor.elements import elements
from sardonyx._src.ops.tensor.zeros import zero

op = Operator("NonZero")


@op.infer(9, 13)
def infer(inference: Inference) -> Result:
    known = value(inference)
    count: Dim = inference.new_dim() if known is None else known.shape[1]
    return TensorType(DataType.INT64, (inference.rank(0), count))


@op.value(9, 13)
def value(inference: Inference) -> Known | None:
    known = elements(inference, 0)
    if known is None or known.dtype != object:
        return None if known is None else evaluate(known)
    flags = [is_nonzero(dim) for dim in known.reshape(-1).tolist()]
    decided = [flag for flag in flags if flag is not None]
    if len(decided) < len(flags):
        return None
    return evaluate(np.array(decided, np.bool_).reshape(known.shape))


def is_nonzero(element: Element | str | None) -> bool | None:
    """Whether an element is not zero; None if unknown."""
    element = element.numerator if isinstance(element, Ratio) else element
    if not isinstance(element, Expr):
        return None if element is None else element not in (0, "")
    low, high = bounds(element)
    return True if (low is not None and low > 0) or (high is not None and high < 0) else None


@op.eval(9, 13)
def evaluate(X: Array) -> Array:
    """The indices of each nonzero element, in row-major order: [rank of X, count] int64, and so [0, count] for a scalar."""
    flags = zero(X.dtype) != X
    count = int(np.count_nonzero(flags))
    return np.array(np.nonzero(flags), np.int64) if X.ndim else np.empty((0, count), np.int64)
