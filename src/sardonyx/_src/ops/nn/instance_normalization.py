"""InstanceNormalization: each channel of each instance brought to mean 0 and variance 1, then scaled and shifted.

Spec: ai.onnx InstanceNormalization-1, -6, -22.  All mean the same; 1 speaks of images alone and has consumed_inputs,
22 adds bfloat16.
"""

from __future__ import annotations

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.arithmetic import in_float32
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.normalizing import by_channel, check_channels, standardized
from sardonyx._src.ops.shapes import same_tensor
from sardonyx._src.ops.widening import NARROW_FLOATS, widening

op = Operator("InstanceNormalization", tolerance="rounding")
op.convert((22, 6))(widening(NARROW_FLOATS))


@op.infer(1, 6, 22)
def infer(t: Inference) -> Result:
    shape = t.shape(0)
    if shape is not None and len(shape) < 2:
        t.fail(f"the input has rank {len(shape)}, [N, C, ...] is wanted")
    check_channels(t, (1, 2), None if shape is None else shape[1])
    return same_tensor(t)


@op.eval(1, 6, 22, ignores=("consumed_inputs",))
@in_float32
def eval_22(x: Array, scale: Array, b: Array, *, epsilon: float) -> Array:
    """x, result: [N, C, *spatial], scale, b: [C]."""
    if x.ndim < 2:
        raise EvaluationError(f"x has rank {x.ndim}, [N, C, ...] is wanted")
    normalized, _, _ = standardized(x, tuple(range(2, x.ndim)), epsilon)
    normalized *= by_channel(scale, "scale", x.shape)
    normalized += by_channel(b, "B", x.shape)
    return normalized
