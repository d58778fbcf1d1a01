"""AffineGrid: the points of a regular grid, transformed by one affine map per instance.

Spec: ai.onnx AffineGrid-20.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Shape, TensorType
from sardonyx._src.ir.dims import Dim, dim_add
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.arithmetic import compute_in_float32
from sardonyx._src.ops.support.body_text import element_type, promoted_type, scalar, vector
from sardonyx._src.ops.support.shapes import merge_dims

op = Operator("AffineGrid", tolerance="rounding", parameters=(1,))


@op.infer(20)
def infer(inference: Inference) -> Result:
    theta, size = inference.tensor(0), inference.dims(1)
    if inference.rank(1) not in (None, 1):
        inference.fail(f"size must be a vector; got rank {inference.rank(1)}")
    if theta is None:
        return None
    axes: Dim = None
    batch: Dim = None
    if theta.shape is not None:
        if len(theta.shape) != 3:
            inference.fail(f"theta must be [N, 2, 3] or [N, 3, 4]; got rank {len(theta.shape)}")
        batch, axes, columns = theta.shape
        merge_dims(inference, (dim_add(axes, 1), columns), "the columns of theta")
    if size is not None:
        if len(size) not in (4, 5):
            inference.fail(f"size must have 4 or 5 entries; got {len(size)}")
        axes = merge_dims(inference, (axes, len(size) - 2), "theta and size")
        batch = merge_dims(inference, (batch, size[0]), "theta and size")
    if not isinstance(axes, int):
        return TensorType(theta.dtype)
    if axes not in (2, 3):
        inference.fail(f"theta must map points of 2 or 3 coordinates; got {axes}")
    spatial: Shape = tuple(inference.new_dim() for _ in range(axes)) if size is None else size[2:]
    return TensorType(theta.dtype, (batch, *spatial, axes))


@op.eval(20)
@compute_in_float32
def eval_20(theta: Array, size: Array, *, context: RunContext, align_corners: int) -> Array:
    """theta: [N, 2, 3] or [N, 3, 4]; size: a vector of the numbers N, C, H, W or N, C, D, H, W; result: [N, *spatial, axes].

    The coordinates of a point are in [-1, 1]; the one along the last spatial axis comes first.
    """
    sizes = tuple(int(n) for n in size.reshape(-1))
    axes = len(sizes) - 2
    if axes not in (2, 3) or theta.shape != (sizes[0], axes, axes + 1) or min(sizes) < 0:
        actual = f"theta {list(theta.shape)} and size {list(sizes)}"
        raise EvaluationError(
            f"theta must be [N, 2, 3] for size [N, C, H, W], or [N, 3, 4] for [N, C, D, H, W]; got {actual}"
        )
    check_result_bytes(context, (sizes[0], *sizes[2:], axes), theta.dtype, "AffineGrid result")
    coordinates = [regular_points(n, bool(align_corners), theta) for n in sizes[2:]]
    points = np.stack(np.meshgrid(*coordinates, indexing="ij")[::-1], -1)
    linear, shift = theta[..., :axes], theta[..., axes]
    mapped = points.reshape(-1, axes) @ linear.swapaxes(1, 2) + shift[:, None]
    return mapped.reshape(sizes[0], *sizes[2:], axes)


def regular_points(count: int, align_corners: bool, like: Array) -> Array:
    """`count` points in [-1, 1], in the type of `like`; a single point is 0.

    With `align_corners` they are evenly spaced from -1 to 1, else the centers of equal cells.
    """
    if align_corners:
        points = np.linspace(-1, 1, count) if count > 1 else np.zeros(count)
    else:
        points = (2 * np.arange(count) + 1) / max(count, 1) - 1
    return points.astype(like.dtype)


@op.body(20, opset=13)
def body(inference: Inference) -> str:
    """A MatMul of the points, in homogeneous coordinates with the last axis first, and the transposed theta."""
    dtype = element_type(inference)
    names = axis_names(inference)
    count = len(names)
    nodes = "".join(axis_text(inference, i, names, dtype) for i in range(count))
    return f"""(theta, size) => (grid) {{
      one = {scalar(1, DataType.INT64)}
      two = {scalar(2, DataType.INT64)}
      at_two = {vector([2])}
      spatial_end = {vector([count + 2])}
      at_end = {vector([1])}
      spatial = Slice(size, at_two, spatial_end)
      column = Concat <axis = 0> (spatial, at_end){nodes}
      unit = {scalar(1, promoted_type(dtype))}
      units = Expand(unit, column)
      points = Concat <axis = -1> ({", ".join(f"{name}s" for name in reversed(names))}, units)
      map = Cast <to = {int(promoted_type(dtype))}> (theta)
      turned = Transpose <perm = [0, 2, 1]> (map)
      before = {vector(range(1, count))}
      matrices = Unsqueeze(turned, before)
      moved = MatMul(points, matrices)
      grid = Cast <to = {int(dtype)}> (moved)
    }}"""


def axis_names(inference: Inference) -> str:
    """A letter for each spatial axis, in order."""
    theta, size = inference.shape(0), inference.dims(1)
    count = None if size is None else len(size) - 2
    if count is None and theta is not None and len(theta) == 3 and isinstance(theta[1], int):
        count = theta[1]
    if count not in (2, 3):
        inference.fail("the number of spatial axes must be known and 2 or 3")
    return "zyx"[-count:]


def axis_text(inference: Inference, i: int, names: str, dtype: DataType) -> str:
    """The nodes of the coordinate of all points along spatial axis i: (2 k + 1 - n) / n for point k of n.

    With `align_corners` the divisor is n - 1.
    """
    letter = names[i]
    others = [axis for axis in range(len(names) + 1) if axis != i]
    parts = "Sub({0}_count, one)" if inference.integer("align_corners") else "Identity({0}_count)"
    return f"""
      {letter}_axis = {scalar(i + 2, DataType.INT64)}
      {letter}_count = Gather(size, {letter}_axis)
      {letter}_start = Sub(one, {letter}_count)
      {letter}_places = Range({letter}_start, {letter}_count, two)
      {letter}_parts = {parts.format(letter)}
      {letter}_divisor = Max({letter}_parts, one)
      {letter}_dividend = Cast <to = {int(promoted_type(dtype))}> ({letter}_places)
      {letter}_scale = Cast <to = {int(promoted_type(dtype))}> ({letter}_divisor)
      {letter}_line = Div({letter}_dividend, {letter}_scale)
      {letter}_others = {vector(others)}
      {letter}_field = Unsqueeze({letter}_line, {letter}_others)
      {letter}s = Expand({letter}_field, column)"""
