"""Upsample: an array of larger sizes, the first elements on one another; replaced by Resize.

Spec: ai.onnx Upsample-1, -7, -9, -10.  Version 1 scales the height and the width of images and calls its modes nearest
and bilinear; 7 scales every axis, and its modes are nearest and linear; 9 takes the scales as an input; 10 is
deprecated.
"""

from __future__ import annotations

import numpy as np

from sardonyx.errors import EvaluationError
from sardonyx.ir.tensors import Array
from sardonyx.ops.api import Call, Operator
from sardonyx.ops.image.resize.resize import scaled, scaled_type
from sardonyx.ops.image.resize.sizes import checked_scales
from sardonyx.ops.inference import Inference, Result

op = Operator("Upsample", tolerance="rounding")


@op.infer(9, 10)
def infer_9(t: Inference) -> Result:
    return scaled_type(t, t.constant(1))


@op.infer(7)
def infer_7(t: Inference) -> Result:
    return scaled_type(t, np.array(t.attributes["scales"], np.float32))


@op.infer(1)
def infer_1(t: Inference) -> Result:
    rank = t.rank(0)
    if rank not in (None, 4):
        t.fail(f"the input has rank {rank}, [N, C, H, W] is wanted")
    height, width = t.attributes["height_scale"], t.attributes["width_scale"]
    return scaled_type(t, np.array([1, 1, height, width], np.float32))


@op.eval(9, 10)
def eval_9(x: Array, scales: Array, *, call: Call, mode: str) -> Array:
    """x: [d0, ..., dk], scales: [rank] float32 of at least 1, result: x's dims times the scales, rounded down."""
    return scaled(x, checked_scales(scales, least=1), mode, call)


@op.eval(7)
def eval_7(x: Array, *, call: Call, mode: str, scales: tuple[float, ...]) -> Array:
    """x: [d0, ..., dk], scales: one of at least 1 for each axis, result: x's dims times the scales, rounded down."""
    return scaled(x, checked_scales(np.array(scales, np.float32), least=1), mode, call)


@op.eval(1)
def eval_1(x: Array, *, call: Call, mode: str, height_scale: float, width_scale: float) -> Array:
    """x: [N, C, H, W], result: [N, C, H * height_scale, W * width_scale], rounded down."""
    if x.ndim != 4:
        raise EvaluationError(f"x has rank {x.ndim}, [N, C, H, W] is wanted")
    if mode not in ("nearest", "bilinear"):
        raise EvaluationError(f"mode is {mode!r}, nearest or bilinear is wanted")
    factors = checked_scales(np.array([1, 1, height_scale, width_scale], np.float32), least=1)
    return scaled(x, factors, "linear" if mode == "bilinear" else mode, call)
