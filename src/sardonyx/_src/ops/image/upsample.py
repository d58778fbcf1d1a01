"""Upsample: enlarges an array with asymmetric coordinates (first elements aligned); replaced by Resize.

Spec: ai.onnx Upsample-1, -7, -9, -10.  Version 1 scales the height and the width of images, and its modes are nearest
and bilinear; 7 scales every axis, and its modes are nearest and linear; in 9 the scales are an input; 10 is deprecated.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ops.api import Operator, RunContext
from sardonyx._src.ops.image.resize.resize import resize_by_scales, scaled_type
from sardonyx._src.ops.image.resize.sizes import validate_scales
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.traits import enum_values_by_version
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

op = Operator(
    "Upsample",
    tolerance="rounding",
    parameters=(1,),
    enum_attributes={"mode": enum_values_by_version({1: ("nearest", "bilinear"), 7: ("nearest", "linear")})},
)


@op.infer(9, 10)
def infer_9(inference: Inference) -> Result:
    rank, count = inference.rank(0), inference.shape(1)
    entries = None if count is None or len(count) != 1 else count[0]
    if rank is not None and isinstance(entries, int) and entries != rank:
        inference.fail(f"scales must have {rank} entries, one per axis; got {entries}")
    return scaled_type(inference, inference.constant(1), minimum=1)


@op.infer(7)
def infer_7(inference: Inference) -> Result:
    return scaled_type(inference, np.array(inference.attributes["scales"], np.float32), minimum=1)


@op.infer(1)
def infer_1(inference: Inference) -> Result:
    rank = inference.rank(0)
    if rank not in (None, 4):
        inference.fail(f"the input must have rank 4 ([N, C, H, W]); got rank {rank}")
    height, width = inference.attributes["height_scale"], inference.attributes["width_scale"]
    return scaled_type(inference, np.array([1, 1, height, width], np.float32), minimum=1)


@op.eval(9, 10)
def eval_9(x: Array, scales: Array, *, context: RunContext, mode: str) -> Array:
    """x: [d0, ..., dk], scales: [rank] float32 of at least 1, result: x's dims times the scales, rounded down."""
    return resize_by_scales(x, validate_scales(scales, minimum=1), mode, context)


@op.eval(7)
def eval_7(x: Array, *, context: RunContext, mode: str, scales: tuple[float, ...]) -> Array:
    """x: [d0, ..., dk], scales: one of at least 1 for each axis, result: x's dims times the scales, rounded down."""
    return resize_by_scales(x, validate_scales(np.array(scales, np.float32), minimum=1), mode, context)


@op.eval(1)
def eval_1(x: Array, *, context: RunContext, mode: str, height_scale: float, width_scale: float) -> Array:
    """x: [N, C, H, W], result: [N, C, H * height_scale, W * width_scale], rounded down."""
    if x.ndim != 4:
        raise EvaluationError(f"x must have rank 4 ([N, C, H, W]); got rank {x.ndim}")
    if mode not in ("nearest", "bilinear"):
        raise EvaluationError(f"mode must be nearest or bilinear; got {mode!r}")
    factors = validate_scales(np.array([1, 1, height_scale, width_scale], np.float32), minimum=1)
    return resize_by_scales(x, factors, "linear" if mode == "bilinear" else mode, context)


# --- conversion ------------------------------------------------------------------------------


@op.convert((1, 7))
def convert_1_to_7(adapter: Adapter) -> AdaptedNode:
    scales = [1.0, 1.0, *(adapter.inference.attributes[name] for name in ("height_scale", "width_scale"))]
    mode = (
        "linear"
        if adapter.inference.attributes["mode"] == "bilinear"
        else adapter.inference.attributes["mode"]
    )
    return adapter.same(drop=("height_scale", "width_scale"), scales=scales, mode=mode)


@op.convert((7, 1))
def to_1(adapter: Adapter) -> AdaptedNode:
    scales = adapter.inference.attributes["scales"]
    assert isinstance(scales, tuple), "scales are a list"
    if adapter.rank(0) != 4 or scales[:2] != (1.0, 1.0):
        adapter.refuse("scales must be [1, 1, height, width] for Upsample-1")
    mode = (
        "bilinear"
        if adapter.inference.attributes["mode"] == "linear"
        else adapter.inference.attributes["mode"]
    )
    return adapter.same(drop=("scales",), height_scale=scales[2], width_scale=scales[3], mode=mode)


@op.convert((7, 9))
def to_9(adapter: Adapter) -> AdaptedNode:
    return adapter.same([adapter.input(0), adapter.as_input("scales")], drop=("scales",))


@op.convert((9, 7))
def convert_9_to_7(adapter: Adapter) -> AdaptedNode:
    return adapter.same([adapter.input(0)], scales=adapter.as_attribute(1, "scales", AttributeType.FLOATS))


@op.convert((9, 10))
def replace_by_resize(adapter: Adapter) -> AdaptedNode:
    """Upsample rejects scales below 1, but Resize accepts them.

    Scales that are not known before a run are replaced by 0 where they are below 1, so that Resize rejects them as well.
    """
    if adapter.inference.constant(1) is not None:
        return adapter.same(op_type="Resize")
    lowest, zero = (adapter.constant(number, DataType.FLOAT) for number in (1.0, 0.0))
    scales = adapter.input(1)
    valid_scales = adapter.Where(adapter.Less(scales, lowest), zero, scales)
    return adapter.same([adapter.input(0), valid_scales], op_type="Resize")
