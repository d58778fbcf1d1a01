"""ImageScaler: pixels times a scale, plus a bias for each channel.

Spec: ai.onnx ImageScaler-1 (withdrawn).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.math.elementwise import in_own_type
from sardonyx._src.ops.shapes import same_tensor

op = Operator("ImageScaler", tolerance="rounding")


@op.infer(1)
def infer(t: Inference) -> Result:
    rank = t.rank(0)
    if rank is not None and rank != 4:
        t.fail(f"the input has rank {rank}; [N, C, H, W] is wanted")
    return same_tensor(t)


@op.eval(1)
@in_own_type
def evaluate(input: Array, *, bias: Sequence[float] | None = None, scale: float) -> Array:
    """input, result: [N, C, H, W]; bias: C numbers, zeros by default."""
    if input.ndim != 4:
        raise EvaluationError(f"the input has shape {list(input.shape)}; [N, C, H, W] is wanted")
    if bias is None:
        return scale * input
    if len(bias) != input.shape[1]:
        raise EvaluationError(f"bias has {len(bias)} numbers and the input {input.shape[1]} channels")
    return scale * input + np.asarray(bias, input.dtype).reshape(-1, 1, 1)
