"""Crop: crops borders from images, or cuts out a window.

Spec: ai.onnx Crop-1, experimental in the first releases, removed later.  `border` is (left, top, right, bottom);
with `scale`, (height, width), a window of that size starts after the left and top border, and right and bottom are
ignored.
"""

from __future__ import annotations

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import dim_sub
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.body_text import SLICE_END
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

op = Operator("Crop", replacement_accepts_more=True)


def border_and_scale(inference: Inference) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
    """The attributes `border` and `scale`; None for an omitted or empty one."""
    return inference.integers("border") or None, inference.integers("scale") or None


@op.infer(1)
def infer(inference: Inference) -> Result:
    data, (border, scale) = inference.tensor(0), border_and_scale(inference)
    if data is None or data.shape is None or len(data.shape) != 4:
        return None if data is None else TensorType(data.dtype, (None,) * 4)
    n, c, h, w = data.shape
    if (
        isinstance(h, int)
        and isinstance(w, int)
        and len(border or (0,) * 4) == 4
        and len(scale or (0,) * 2) == 2
    ):
        if border is None and scale is None:
            inference.fail("border or scale must be given")
        try:
            window_of((h, w), border, scale)
        except EvaluationError as error:
            inference.fail(error.why)
    if scale is not None and len(scale) == 2:
        return TensorType(data.dtype, (n, c, *scale))
    if border is None or len(border) != 4:
        return TensorType(data.dtype, (n, c, None, None))
    left, top, right, bottom = border
    return TensorType(data.dtype, (n, c, dim_sub(h, top + bottom), dim_sub(w, left + right)))


@op.eval(1)
def evaluate(
    input: Array, *, border: tuple[int, ...] | None = None, scale: tuple[int, ...] | None = None
) -> Array:
    """input: [N, C, H, W]; without `border` the window starts at the top left."""
    border, scale = border or None, scale or None
    if input.ndim != 4 or (border is None and scale is None):
        raise EvaluationError(
            f"the input must be [N, C, H, W] with border or scale given; got rank {input.ndim}, {border} and {scale}"
        )
    if len(border or (0,) * 4) != 4 or len(scale or (0,) * 2) != 2:
        raise EvaluationError(f"border must have 4 and scale 2 numbers; got {border} and {scale}")
    top, left, height, width = window_of(input.shape[2:], border, scale)
    return input[:, :, top : top + height, left : left + width]


def window_of(
    image: tuple[int, ...], border: tuple[int, ...] | None, scale: tuple[int, ...] | None
) -> tuple[int, int, int, int]:
    """Top, left, height and width of the window; raises EvaluationError unless it lies in the image, [H, W]."""
    left, top, right, bottom = border or (0,) * 4
    height, width = scale or (image[0] - top - bottom, image[1] - left - right)
    if min(left, top, height, width) < 0 or top + height > image[0] or left + width > image[1]:
        raise EvaluationError(
            f"border and scale must fit an image of {list(image)}; got {border} and {scale}"
        )
    return top, left, height, width


@op.convert((1, 0))
def replace(adapter: Adapter) -> AdaptedNode:
    """Slice along the height and the width."""
    border, scale = border_and_scale(adapter.inference)
    rank = adapter.inference.rank(0)
    if rank not in (None, 4) or (border is None and scale is None):
        adapter.refuse("the input must be [N, C, H, W] with border or scale given")
    if len(border or (0,) * 4) != 4 or len(scale or (0,) * 2) != 2:
        adapter.refuse(f"border must have 4 and scale 2 numbers; got {border} and {scale}")
    left, top, right, bottom = border or (0,) * 4
    if min(left, top, *(scale or (right, bottom))) < 0:
        adapter.refuse(f"border and scale must be >= 0; got {border} and {scale}")
    if scale is not None:
        if max(top + scale[0], left + scale[1]) > SLICE_END:
            adapter.refuse(f"the window must end within an int64; got {border} and {scale}")
        ends = [top + scale[0], left + scale[1]]
    else:
        ends = [-last if last else SLICE_END for last in (bottom, right)]
    axes = adapter.integers([2, 3])
    return adapter.Slice(adapter.input(0), adapter.integers([top, left]), adapter.integers(ends), axes)
