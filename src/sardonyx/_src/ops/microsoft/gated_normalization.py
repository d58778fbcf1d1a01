"""Gated and grouped normalizations of com.microsoft, computed in float and rounded once.

Spec: com.microsoft BranchwiseRMSNorm-1 GatedAdd-1 GatedRMSNorm-1 ScaledSiLU-1, as onnxruntime computes them.
"""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.microsoft.text import DOMAIN, string_attribute
from sardonyx._src.ops.support.body_text import element_type, rank_of, vector

branchwise = Operator(
    "BranchwiseRMSNorm", DOMAIN, tolerance="rounding", about="RMSNormalization of each of several rows"
)
gated_add = Operator("GatedAdd", DOMAIN, tolerance="rounding", about="x + y * gate")
gated_norm = Operator(
    "GatedRMSNorm", DOMAIN, tolerance="rounding", about="RMSNormalization times an activated gate"
)
scaled_silu = Operator("ScaledSiLU", DOMAIN, tolerance="rounding", about="z * sigmoid(z) of scaled data z")
FLOAT = int(DataType.FLOAT)


@gated_add.body(1, opset=13)
def gated_add_body(inference: Inference) -> str:
    return "(x, y, gate) => (z) { gated = Mul(y, gate)  z = Add(x, gated) }"


@scaled_silu.body(1, opset=13)
def scaled_silu_body(inference: Inference) -> str:
    own = int(element_type(inference))
    factor = (
        f"factor = Cast <to = {FLOAT}> (scale)"
        if inference.has(1)
        else "factor = Constant <value_float = @alpha> ()"
    )
    return f"""(x, scale) => (y) {{
      {factor}
      wide = Cast <to = {FLOAT}> (x)
      product = Mul(wide, factor)
      scaled = Cast <to = {own}> (product)
      gate = Sigmoid(scaled)
      y = Mul(scaled, gate)
    }}"""


@gated_norm.body(1, opset=23)
def gated_norm_body(inference: Inference) -> str:
    """x, gate: [..., heads * size]; scale: [size]."""
    kind = string_attribute(inference, "activation")
    if kind not in ("silu", "swish", "sigmoid"):
        inference.fail(f"activation must be silu, swish or sigmoid; got {kind!r}")
    return f"""(x, scale, gate) => (y) {{
      outer = Shape <end = -1> (x)
      heads = {vector([-1])}
      size = Shape(scale)
      split = Concat <axis = 0> (outer, heads, size)
      wide = Cast <to = {FLOAT}> (x)
      wide_scale = Cast <to = {FLOAT}> (scale)
      rows = Reshape(wide, split)
      normal_rows = RMSNormalization <axis = -1, epsilon = @epsilon> (rows, wide_scale)
      shape = Shape(x)
      normal = Reshape(normal_rows, shape)
      wide_gate = Cast <to = {FLOAT}> (gate)
      sigmoid = Sigmoid(wide_gate)
      active = {"Identity(sigmoid)" if kind == "sigmoid" else "Mul(wide_gate, sigmoid)"}
      product = Mul(normal, active)
      y = Cast <to = {int(element_type(inference))}> (product)
    }}"""


@branchwise.body(1, opset=23)
def branchwise_body(inference: Inference) -> str:
    """x: [..., branches, size], or [..., branches * size]; scale: [branches * size], [branches, size] or [size]."""
    count = inference.integer("num_branches")
    split = f"""
      outer = Shape <end = -1> (x)
      counts = {vector([count, -1])}
      split = Concat <axis = 0> (outer, counts)
      rows = Reshape(wide, split)"""
    scale = "scaled = Identity(normal_rows)"
    if inference.has(1):
        wide = f"wide_scale = Cast <to = {FLOAT}> (scale)"
        if rank_of(inference, 1) == 1:
            wide += f"""
      every = {vector([-1])}
      row_size = Shape <start = -1> (rows)
      scale_shape = Concat <axis = 0> (every, row_size)
      row_scale = Reshape(wide_scale, scale_shape)"""
        else:
            wide += "  row_scale = Identity(wide_scale)"
        scale = f"{wide}  scaled = Mul(normal_rows, row_scale)"
    return f"""(x, scale) => (y) {{
      wide = Cast <to = {FLOAT}> (x)
      {split if count else "rows = Identity(wide)"}
      square = Mul(rows, rows)
      last = {vector([-1])}
      mean = ReduceMean(square, last)
      epsilon = Constant <value_float = @epsilon> ()
      positive = Add(mean, epsilon)
      root = Sqrt(positive)
      normal_rows = Div(rows, root)
      {scale}
      shape = Shape(x)
      result = Reshape(scaled, shape)
      y = Cast <to = {int(element_type(inference))}> (result)
    }}"""
