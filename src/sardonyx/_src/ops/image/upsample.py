"""Upsample: an array of larger sizes, the first elements on one another; replaced by Resize.

Spec: ai.onnx Upsample-1, -7, -9, -10.  Version 1 scales the height and the width of images and calls its modes nearest
and bilinear; 7 scales every axis, and its modes are nearest and linear; 9 takes the scales as an input; 10 is
deprecated.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import Call, Operator
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.image.resize.resize import scaled, scaled_type
from sardonyx._src.ops.image.resize.sizes import checked_scales
from sardonyx._src.ops.inference import Inference, Result

op = Operator("Upsample", tolerance="rounding")


@op.infer(9, 10)
def infer_9(t: Inference) -> Result:
    return scaled_type(t, t.constant(1), least=1)


@op.infer(7)
def infer_7(t: Inference) -> Result:
    return scaled_type(t, np.array(t.attributes["scales"], np.float32), least=1)


@op.infer(1)
def infer_1(t: Inference) -> Result:
    rank = t.rank(0)
    if rank not in (None, 4):
        t.fail(f"the input has rank {rank}, [N, C, H, W] is wanted")
    height, width = t.attributes["height_scale"], t.attributes["width_scale"]
    return scaled_type(t, np.array([1, 1, height, width], np.float32), least=1)


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


# --- conversion ------------------------------------------------------------------------------


@op.convert((1, 7))
def to_7(c: Change) -> Converted:
    scales = [1.0, 1.0, *(c.t.attributes[name] for name in ("height_scale", "width_scale"))]
    mode = "linear" if c.t.attributes["mode"] == "bilinear" else c.t.attributes["mode"]
    return c.same(drop=("height_scale", "width_scale"), scales=scales, mode=mode)


@op.convert((7, 1))
def to_1(c: Change) -> Converted:
    scales = c.t.attributes["scales"]
    assert isinstance(scales, tuple), "scales are a list"
    if c.rank(0) != 4 or scales[:2] != (1.0, 1.0):
        c.refuse("only height and width of [N, C, H, W] are scaled there")
    mode = "bilinear" if c.t.attributes["mode"] == "linear" else c.t.attributes["mode"]
    return c.same(drop=("scales",), height_scale=scales[2], width_scale=scales[3], mode=mode)


@op.convert((7, 9))
def to_9(c: Change) -> Converted:
    return c.same([c.input(0), c.as_input("scales")], drop=("scales",))


@op.convert((9, 7))
def to_7_again(c: Change) -> Converted:
    return c.same([c.input(0)], scales=c.as_attribute(1, "scales", AttributeType.FLOATS))


@op.convert((9, 10))
def to_its_successor(c: Change) -> Converted:
    return c.same(op_type="Resize")
