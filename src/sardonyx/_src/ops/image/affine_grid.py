"""AffineGrid: the points of a regular grid, moved by an affine map of each instance.

Spec: ai.onnx AffineGrid-20.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import Shape, TensorType
from sardonyx._src.ops.api import Call, Operator, claim
from sardonyx._src.ops.arithmetic import in_float32
from sardonyx._src.ops.body_text import element_type, scalar, vector, wide_float
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.shapes import merge_dims

op = Operator("AffineGrid", tolerance="rounding")


@op.infer(20)
def infer(t: Inference) -> Result:
    theta, size = t.tensor(0), t.dims(1)
    if t.rank(1) not in (None, 1):
        t.fail(f"size has rank {t.rank(1)}, where a vector is wanted")
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
    spatial: Shape = tuple(t.new_dim() for _ in range(axes)) if size is None else size[2:]
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


@op.body(20, opset=13)
def body(t: Inference) -> str:
    """Every point is a row of coordinates, the last axis first, and a 1, which theta maps as a matrix."""
    dtype = element_type(t)
    names = axis_names(t)
    count = len(names)
    nodes = "".join(axis_text(t, i, names, dtype) for i in range(count))
    return f"""(theta, size) => (grid) {{
      one = {scalar(1, DataType.INT64)}
      two = {scalar(2, DataType.INT64)}
      at_two = {vector([2])}
      behind = {vector([count + 2])}
      at_end = {vector([1])}
      spatial = Slice(size, at_two, behind)
      column = Concat <axis = 0> (spatial, at_end){nodes}
      unit = {scalar(1, wide_float(dtype))}
      units = Expand(unit, column)
      points = Concat <axis = -1> ({", ".join(f"{name}s" for name in reversed(names))}, units)
      map = Cast <to = {int(wide_float(dtype))}> (theta)
      turned = Transpose <perm = [0, 2, 1]> (map)
      before = {vector(range(1, count))}
      matrices = Unsqueeze(turned, before)
      moved = MatMul(points, matrices)
      grid = Cast <to = {int(dtype)}> (moved)
    }}"""


def axis_names(t: Inference) -> str:
    """A letter for each spatial axis, the first one first."""
    theta, size = t.shape(0), t.dims(1)
    count = None if size is None else len(size) - 2
    if count is None and theta is not None and len(theta) == 3 and isinstance(theta[1], int):
        count = theta[1]
    if count not in (2, 3):
        t.fail("the number of spatial axes, 2 or 3, has to be known")
    return "zyx"[-count:]


def axis_text(t: Inference, i: int, names: str, dtype: DataType) -> str:
    """The coordinate of each point along spatial axis i, as an array of all points: (2 k + 1 - n) / n, or over n - 1."""
    letter = names[i]
    others = [axis for axis in range(len(names) + 1) if axis != i]
    parts = "Sub({0}_count, one)" if t.integer("align_corners") else "Identity({0}_count)"
    return f"""
      {letter}_axis = {scalar(i + 2, DataType.INT64)}
      {letter}_count = Gather(size, {letter}_axis)
      {letter}_start = Sub(one, {letter}_count)
      {letter}_places = Range({letter}_start, {letter}_count, two)
      {letter}_parts = {parts.format(letter)}
      {letter}_divisor = Max({letter}_parts, one)
      {letter}_dividend = Cast <to = {int(wide_float(dtype))}> ({letter}_places)
      {letter}_scale = Cast <to = {int(wide_float(dtype))}> ({letter}_divisor)
      {letter}_line = Div({letter}_dividend, {letter}_scale)
      {letter}_others = {vector(others)}
      {letter}_field = Unsqueeze({letter}_line, {letter}_others)
      {letter}s = Expand({letter}_field, column)"""
