"""LayerNormalization: the axes from `axis` on normalized to mean 0 and variance 1, then scaled and shifted.

Spec: ai.onnx LayerNormalization-17.  `stash_type` is the precision of the statistics; scale and bias are
applied in the precision of the data, with rounding after each step.
"""

from __future__ import annotations

from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.normalizing import (
    STASH_TYPES,
    check_broadcast,
    check_broadcasts,
    inner_axes,
    round_and_promote,
    stage_one,
    stage_one_type,
    standardize,
)
from sardonyx._src.ops.support.body_text import element_type, scalar
from sardonyx._src.ops.support.shapes import axis_of

op = Operator("LayerNormalization", tolerance="rounding", computes_in_float32=True, stash_type_constraint="U")


@op.infer(17)
def infer(inference: Inference) -> Result:
    data = inference.tensor(0)
    check_broadcasts(inference, (1, 2))
    shape = None if data is None else data.shape
    reduced = None
    if shape is not None:
        axis = inference.axis(inference.integer("axis"), len(shape))
        reduced = (*shape[:axis], *(1 for _ in shape[axis:]))
    stash = STASH_TYPES.get(inference.integer("stash_type"))
    statistics = None if stash is None else TensorType(stash, reduced)
    return [data and TensorType(data.dtype, shape), statistics, statistics][: inference.outputs]


@op.eval(17)
def eval_17(
    x: Array, scale: Array, b: Array | None = None, *, axis: int, epsilon: float, stash_type: int
) -> tuple[Array, Array, Array]:
    """x, Y: [*outer, *inner] with `inner` from `axis` on; Mean, InvStdDev: [*outer, 1, ...] of type `stash_type`."""
    first = axis_of(axis, x.ndim)
    stash = stage_one_type(stash_type)
    axes = tuple(range(first, x.ndim))
    normalized, mean, inverse = standardize(round_and_promote(x, stash), axes, epsilon)
    y = normalized.astype(stash, copy=False).astype(x.dtype, copy=False) * check_broadcast(scale, "Scale", x)
    if b is not None:
        y = y + check_broadcast(b, "B", x)
    return y, mean.astype(stash, copy=False), inverse.astype(stash, copy=False)


@op.body(17, opset=13)
def body(inference: Inference) -> str:
    stash = inference.integer("stash_type")
    axes = f"<axes = [{', '.join(map(str, inner_axes(inference)))}]>"
    scaling = (
        "scaled = Mul(normalized, scale)  y = Add(scaled, bias)"
        if inference.has(2)
        else "y = Mul(normalized, scale)"
    )
    return f"""(x, scale, bias) => ({", ".join(("y", "mean", "inverse")[: inference.outputs])}) {{
      wide = Cast <to = {stash}> (x)
      mean = ReduceMean {axes} (wide)
      deviation = Sub(wide, mean)
      square = Mul(deviation, deviation)
      variance = ReduceMean {axes} (square)
      epsilon = {scalar(inference.number("epsilon"), stage_one(inference))}
      positive = Add(variance, epsilon)
      root = Sqrt(positive)
      inverse = Reciprocal(root)
      standard = Mul(deviation, inverse)
      normalized = Cast <to = {int(element_type(inference))}> (standard)
      {scaling}
    }}"""
