"""ImageScaler: pixels times a scale, plus a bias for each channel.

Spec: ai.onnx ImageScaler-1 (withdrawn).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Value
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.math.elementwise import round_to_input_type
from sardonyx._src.ops.support.body_text import promoted_type
from sardonyx._src.ops.support.promotion import compute_promoted
from sardonyx._src.ops.support.shapes import same_tensor
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

op = Operator("ImageScaler", tolerance="rounding")


@op.infer(1)
def infer(inference: Inference) -> Result:
    rank = inference.rank(0)
    if rank is not None and rank != 4:
        inference.fail(f"the input must have rank 4 ([N, C, H, W]); got rank {rank}")
    return same_tensor(inference)


@op.eval(1)
@round_to_input_type
def evaluate(input: Array, *, bias: Sequence[float] | None = None, scale: float) -> Array:
    """input, result: [N, C, H, W]; bias: C numbers, zeros by default."""
    if input.ndim != 4:
        raise EvaluationError(f"the input must have rank 4 ([N, C, H, W]); got shape {list(input.shape)}")
    if bias is None:
        return scale * input
    if len(bias) != input.shape[1]:
        raise EvaluationError(
            f"bias must have {input.shape[1]} elements, one for each channel; got {len(bias)}"
        )
    return scale * input + np.asarray(bias, input.dtype).reshape(-1, 1, 1)


@op.convert((1, 0))
def replace(adapter: Adapter) -> AdaptedNode:
    """Mul by the scale; then Add of the bias, if there is one, as [C, 1, 1]."""
    shape, bias = adapter.inference.shape(0), adapter.inference.attributes.get("bias")
    if shape is not None and len(shape) != 4:
        adapter.refuse(f"the input must have rank 4 ([N, C, H, W]); got rank {len(shape)}")
    channels = None if shape is None else shape[1]
    if isinstance(bias, tuple) and len(bias) != channels:
        count = channels if isinstance(channels, int) else "an unknown number of"
        adapter.refuse(f"bias must have {count} elements, one for each channel; got {len(bias)}")
    wide = promoted_type(adapter.dtype(0))
    scale = adapter.constant(np.float64(adapter.inference.number("scale")), wide)

    def compute(x: Value) -> Value:
        scaled = adapter.Mul(x, scale)
        if bias is None:
            return scaled
        return adapter.Add(scaled, adapter.constant(np.array(bias, np.float64).reshape(-1, 1, 1), wide))

    return compute_promoted(adapter, compute)
