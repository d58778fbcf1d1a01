"""AffineGrid: the points of a regular grid, moved by an affine map of each instance.

Spec: ai.onnx AffineGrid-20.
"""

from __future__ import annotations

import numpy as np

from sardonyx.errors import EvaluationError
from sardonyx.ir.dims import Dim
from sardonyx.ir.tensors import Array
from sardonyx.ir.types import Shape, TensorType
from sardonyx.ops.api import Call, Operator, claim
from sardonyx.ops.arithmetic import in_float32
from sardonyx.ops.inference import Inference, Result
from sardonyx.ops.shapes import merge_dims

op = Operator("AffineGrid", tolerance="rounding")


@op.infer(20)
def infer(t: Inference) -> Result:
    theta, size = t.tensor(0), t.dims(1)
    if theta is None:
        return None
    axes: Dim = None
    batch: Dim = None
    if theta.shape is not None:
        if len(theta.shape) != 3:
            t.fail(f"theta has rank {len(theta.shape)}, [N, 2, 3] or [N, 3, 4] is wanted")
        batch, axes = theta.shape[:2]
    if size is not None:
        if len(size) not in (4, 5):
            t.fail(f"size has {len(size)} entries, 4 or 5 are wanted")
        axes = merge_dims(t, (axes, len(size) - 2), "theta and size")
        batch = merge_dims(t, (batch, size[0]), "theta and size")
    if not isinstance(axes, int):
        return TensorType(theta.dtype)
    if axes not in (2, 3):
        t.fail(f"theta maps points of {axes} coordinates, 2 or 3 are wanted")
    spatial: Shape = (None,) * axes if size is None else size[2:]
    return TensorType(theta.dtype, (batch, *spatial, axes))


@op.eval(20)
@in_float32
def eval_20(theta: Array, size: Array, *, call: Call, align_corners: int) -> Array:
    """theta: [N, 2, 3] or [N, 3, 4], size: [N, C, H, W] or [N, C, D, H, W] as elements, result: [N, *spatial, axes].

    Coordinates run from -1 to 1 and are listed from the last axis to the first.
    """
    sizes = tuple(int(n) for n in size.reshape(-1))
    axes = len(sizes) - 2
    if axes not in (2, 3) or theta.shape != (sizes[0], axes, axes + 1) or min(sizes) < 0:
        what = f"theta is {list(theta.shape)} and size {list(sizes)}"
        raise EvaluationError(
            f"{what}: [N, 2, 3] with [N, C, H, W] or [N, 3, 4] with [N, C, D, H, W] is wanted"
        )
    claim(call, (sizes[0], *sizes[2:], axes), theta.dtype, "AffineGrid result")
    steps = [centres(n, bool(align_corners), theta) for n in sizes[2:]]
    points = np.stack(np.meshgrid(*steps, indexing="ij")[::-1], -1)
    linear, shift = theta[..., :axes], theta[..., axes]
    moved = points.reshape(-1, axes) @ linear.swapaxes(1, 2) + shift[:, None]
    return moved.reshape(sizes[0], *sizes[2:], axes)


def centres(count: int, align_corners: bool, like: Array) -> Array:
    """`count` points from -1 to 1: on both ends, or in the middle of as many equal parts; 0 for a single one."""
    if align_corners:
        points = np.linspace(-1, 1, count) if count > 1 else np.zeros(count)
    else:
        points = (2 * np.arange(count) + 1) / max(count, 1) - 1
    return points.astype(like.dtype)
