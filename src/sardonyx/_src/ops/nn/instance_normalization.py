"""InstanceNormalization: each channel of each instance normalized to mean 0 and variance 1, then scaled and shifted.

Spec: ai.onnx InstanceNormalization-1, -6, -22.  All mean the same; 1 describes only images and has consumed_inputs,
22 adds bfloat16.
"""

from __future__ import annotations

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.normalizing import by_channel, check_channels, standardize
from sardonyx._src.ops.support.arithmetic import compute_in_float32
from sardonyx._src.ops.support.promotion import NARROW_FLOATS, promote_input
from sardonyx._src.ops.support.shapes import same_tensor

op = Operator("InstanceNormalization", tolerance="rounding", computes_in_float32=True)
op.convert((22, 6))(promote_input(NARROW_FLOATS))


@op.infer(1, 6, 22)
def infer(inference: Inference) -> Result:
    shape = inference.shape(0)
    if shape is not None and len(shape) < 2:
        inference.fail(f"the input must have rank >= 2 ([N, C, ...]); got rank {len(shape)}")
    check_channels(inference, (1, 2), None if shape is None else shape[1])
    return same_tensor(inference)


@op.eval(1, 6, 22, ignores=("consumed_inputs",))
@compute_in_float32
def eval_22(x: Array, scale: Array, b: Array, *, epsilon: float) -> Array:
    """x, result: [N, C, *spatial], scale, b: [C]."""
    if x.ndim < 2:
        raise EvaluationError(f"x must have rank >= 2 ([N, C, ...]); got rank {x.ndim}")
    normalized, _, _ = standardize(x, tuple(range(2, x.ndim)), epsilon)
    normalized *= by_channel(scale, "scale", x.shape)
    normalized += by_channel(b, "B", x.shape)
    return normalized
