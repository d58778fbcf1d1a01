"""LayerNormalization: everything from an axis on brought to mean 0 and variance 1, then scaled and shifted.

Spec: ai.onnx LayerNormalization-17.  `stash_type` is the precision of the statistics; scale and bias work in the
precision of the data, which rounds after each step.
"""

from __future__ import annotations

from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.body_text import element_type, real, scalar
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.normalizing import (
    STAGE_ONE,
    check_fitting,
    fitting,
    inner_axes,
    stage_one,
    stage_one_type,
    standardized,
    working,
)
from sardonyx._src.ops.shapes import axis_of

op = Operator("LayerNormalization", tolerance="rounding")


@op.infer(17)
def infer(t: Inference) -> Result:
    found = t.tensor(0)
    check_fitting(t, (1, 2))
    shape = None if found is None else found.shape
    reduced = None
    if shape is not None:
        axis = t.axis(t.integer("axis"), len(shape))
        reduced = (*shape[:axis], *(1 for _ in shape[axis:]))
    stash = STAGE_ONE.get(t.integer("stash_type"))
    statistics = None if stash is None else TensorType(stash, reduced)
    return [found and TensorType(found.dtype, shape), statistics, statistics][: t.outputs]


@op.eval(17)
def eval_17(
    x: Array, scale: Array, b: Array | None = None, *, axis: int, epsilon: float, stash_type: int
) -> tuple[Array, Array, Array]:
    """x, Y: [*outer, *inner] with `inner` from `axis` on; Mean, InvStdDev: [*outer, 1, ...] of type `stash_type`."""
    first = axis_of(axis, x.ndim)
    stash = stage_one_type(stash_type)
    axes = tuple(range(first, x.ndim))
    normalized, mean, inverse = standardized(working(x, stash), axes, epsilon)
    y = normalized.astype(stash, copy=False).astype(x.dtype, copy=False) * fitting(scale, "Scale", x)
    if b is not None:
        y = y + fitting(b, "B", x)
    return y, mean.astype(stash, copy=False), inverse.astype(stash, copy=False)


@op.body(17, opset=13)
def body(t: Inference) -> str:
    stash = t.integer("stash_type")
    axes = f"<axes = [{', '.join(map(str, inner_axes(t)))}]>"
    scaling = (
        "scaled = Mul(normalized, scale)  y = Add(scaled, bias)" if t.has(2) else "y = Mul(normalized, scale)"
    )
    return f"""(x, scale, bias) => ({", ".join(("y", "mean", "inverse")[: t.outputs])}) {{
      wide = Cast <to = {stash}> (x)
      mean = ReduceMean {axes} (wide)
      deviation = Sub(wide, mean)
      square = Mul(deviation, deviation)
      variance = ReduceMean {axes} (square)
      epsilon = {scalar(real(t, "epsilon"), stage_one(t))}
      positive = Add(variance, epsilon)
      root = Sqrt(positive)
      inverse = Reciprocal(root)
      standard = Mul(deviation, inverse)
      normalized = Cast <to = {int(element_type(t))}> (standard)
      {scaling}
    }}"""
