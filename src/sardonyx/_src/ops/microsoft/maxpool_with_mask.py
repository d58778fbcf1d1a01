"""MaxpoolWithMask of com.microsoft: the largest elements of windows; each row of a window ends before a masked element.

Spec: com.microsoft MaxpoolWithMask-1, as onnxruntime computes it.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator, RunContext
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.microsoft.text import DOMAIN
from sardonyx._src.ops.nn.pooling import pooling_rounding, pooling_shape, pooling_windows
from sardonyx._src.ops.nn.windows import iterate_taps, pad_input

op = Operator("MaxpoolWithMask", DOMAIN, about="MaxPool of the elements before masked ones")
LOWEST = np.finfo(np.float32).min


@op.infer(1)
def infer(inference: Inference) -> Result:
    data = inference.tensor(0)
    return data and TensorType(data.dtype, pooling_shape(inference, inside=False))


@op.eval(1, ignores=("storage_order",))
def evaluate(
    x: Array,
    mask: Array,
    *,
    context: RunContext,
    kernel_shape: tuple[int, ...],
    auto_pad: str,
    strides: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
) -> Array:
    """x: [N, C, *spatial] float32; mask: as x, but repeated if it has fewer channels in all; result: [N, C, *out].

    A row of a window, along the last axis, ends before its first element with mask 0.  If there are several spatial axes,
    the first element of a channel counts even if its mask is 0.  A window without elements gives the lowest number.
    """
    windows = pooling_windows(
        x,
        kernel_shape,
        strides=strides,
        pads=pads,
        auto_pad=auto_pad,
        dilations=None,
        rounding=pooling_rounding(0, inside=False),
    )
    visible = pad_input(visible_elements(mask, x.shape), windows, True, context)
    top = np.full((*x.shape[:2], *windows.out), LOWEST, x.dtype)
    is_open = np.ones(top.shape, bool)
    taps = zip(
        iterate_taps(pad_input(x, windows, LOWEST, context), windows),
        iterate_taps(visible, windows),
        strict=True,
    )
    for (tap, value), (_, is_visible) in taps:
        is_open = np.where(tap[-1] == 0, is_visible, is_open & is_visible)  # tap[-1] is 0 where a row begins
        top = np.where(is_open & (value > top), value, top)
    return top


def visible_elements(mask: Array, shape: tuple[int, ...]) -> Array:
    """The mask as bool, repeated to the shape of x; raises EvaluationError for a mask that cannot be repeated so."""
    spatial = shape[2:]
    if mask.shape[2:] != spatial or mask.size == 0 or np.prod(shape) % mask.size:
        raise EvaluationError(f"the mask must have the spatial sizes {list(spatial)}; got {list(mask.shape)}")
    visible = np.resize(mask.reshape(-1), shape) != 0
    if len(spatial) > 1:
        visible[(slice(None), slice(None), *(0,) * len(spatial))] = True
    return visible
