"""Hyper-connections of com.microsoft: streams of features that gates reduce, mix and extend.

Spec: com.microsoft EngramGate-1 HyperConnectionPostMix-1 HyperConnectionPreMix-1, as onnxruntime computes them: in float,
rounded once.  Streams are [..., branches, size], or [..., branches * size] with the attribute num_branches.
"""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.microsoft.text import DOMAIN, results_text
from sardonyx._src.ops.support.body_text import element_type, rank_of, scalar, vector

pre_mix = Operator(
    "HyperConnectionPreMix", DOMAIN, tolerance="rounding", about="the sum of streams weighted by gates"
)
post_mix = Operator(
    "HyperConnectionPostMix",
    DOMAIN,
    tolerance="rounding",
    about="streams mixed by a matrix, plus a gated addend",
)
engram = Operator(
    "EngramGate", DOMAIN, tolerance="rounding", about="a value gated by normalized keys and queries"
)
FLOAT = int(DataType.FLOAT)
LEAST_DOT = 1e-6  # the lower bound of the number under the square root in the gate


@pre_mix.body(1, opset=18)
def pre_mix_body(inference: Inference) -> str:
    """result: [..., size], the sum over branches of streams * gates, times reduction_scale."""
    return f"""(streams, gates) => (y) {{
      {streams_text(inference)}
      {gates_text(inference, 1)}
      weighted = Mul(grouped, gate_rows)
      branch_axis = {vector([-2])}
      sum = ReduceSum <keepdims = 0> (weighted, branch_axis)
      factor = Constant <value_float = @reduction_scale> ()
      scaled = Mul(sum, factor)
      y = Cast <to = {int(element_type(inference))}> (scaled)
    }}"""


@post_mix.body(1, opset=18)
def post_mix_body(inference: Inference) -> str:
    """result, as the streams: the streams mixed over their branches, plus gates * block.

    block: [..., size]; mix: [..., branches, branches]; entry [i, j] is the weight of stream i in the mixed stream j.
    """
    mixed = "mixed = Identity(grouped)"
    if inference.has(3):
        last = rank_of(inference, 3)
        perm = [*range(last - 2), last - 1, last - 2]
        mixed = f"""
      turned = Transpose <perm = {perm}> (mix)
      wide_mix = Cast <to = {FLOAT}> (turned)
      mixed = MatMul(wide_mix, grouped)"""
    return f"""(streams, block, gates, mix) => (y) {{
      {streams_text(inference)}
      {gates_text(inference, 2)}
      {mixed}
      wide_block = Cast <to = {FLOAT}> (block)
      branch_axis = {vector([-2])}
      block_row = Unsqueeze(wide_block, branch_axis)
      injected = Mul(gate_rows, block_row)
      sum = Add(mixed, injected)
      shape = Shape(streams)
      result = Reshape(sum, shape)
      y = Cast <to = {int(element_type(inference))}> (result)
    }}"""


def streams_text(inference: Inference) -> str:
    """The nodes of `grouped`: the streams in float, [..., branches, size]."""
    wide = f"wide_streams = Cast <to = {FLOAT}> (streams)"
    if not (count := inference.integer("num_branches", 0)):
        return f"{wide}  grouped = Identity(wide_streams)"
    return f"""{wide}
      outer = Shape <end = -1> (streams)
      counts = {vector([count, -1])}
      split = Concat <axis = 0> (outer, counts)
      grouped = Reshape(wide_streams, split)"""


def gates_text(inference: Inference, i: int) -> str:
    """The nodes of `gate_rows`, [..., branches, size or 1], from the gates in input i.

    The gates are of this form already, or [..., branches], or [..., branches * size] as the streams.
    """
    count, rank, gate_rank = inference.integer("num_branches", 0), rank_of(inference), rank_of(inference, i)
    grouped_rank = rank + 1 if count else rank
    wide = f"wide_gates = Cast <to = {FLOAT}> (gates)"
    if gate_rank == grouped_rank:
        return f"{wide}  gate_rows = Identity(wide_gates)"
    if gate_rank != grouped_rank - 1:
        inference.fail(f"the gates must have rank {grouped_rank - 1} or {grouped_rank}; got rank {gate_rank}")
    shape = inference.shape(i)
    if count and shape is not None and shape[-1] != count:
        return f"{wide}  gate_rows = Reshape(wide_gates, split)"
    return f"{wide}  column = {vector([-1])}  gate_rows = Unsqueeze(wide_gates, column)"


@engram.body(1, opset=23)
def engram_body(inference: Inference) -> str:
    """y: value * sigmoid(sign(d) * sqrt(|d|)), where d is the dot product of normalized key and query / sqrt(size).

    key, query: [batch, length, branches, size]; value: [batch, length, size]; scales: [branches, size].
    """
    own = int(element_type(inference))
    normal_value = ""
    if inference.outputs > 1:
        if not inference.has(5):
            inference.fail("conv_norm_scale must be given for the output gated_value_normed")
        normal_value = f"""
      wide_conv_scale = Cast <to = {FLOAT}> (conv_scale)
      {norm_text("gated", "wide_conv_scale", "normal")}
      normed = Cast <to = {own}> (normal)"""
    return f"""(key, query, value, key_scale, query_scale, conv_scale) => {results_text(inference, "y", "normed")} {{
      wide_key = Cast <to = {FLOAT}> (key)
      wide_query = Cast <to = {FLOAT}> (query)
      wide_value = Cast <to = {FLOAT}> (value)
      wide_key_scale = Cast <to = {FLOAT}> (key_scale)
      wide_query_scale = Cast <to = {FLOAT}> (query_scale)
      {norm_text("wide_key", "wide_key_scale", "normal_key")}
      {norm_text("wide_query", "wide_query_scale", "normal_query")}
      product = Mul(normal_key, normal_query)
      last = {vector([-1])}
      sum = ReduceSum(product, last)
      size = Shape <start = -1> (key)
      real_size = Cast <to = {FLOAT}> (size)
      root_size = Sqrt(real_size)
      dot = Div(sum, root_size)
      magnitude = Abs(dot)
      least = {scalar(LEAST_DOT, DataType.FLOAT)}
      positive = Max(magnitude, least)
      root = Sqrt(positive)
      sign = Sign(dot)
      signed_root = Mul(sign, root)
      gate = Sigmoid(signed_root)
      branch_axis = {vector([-2])}
      value_row = Unsqueeze(wide_value, branch_axis)
      gated = Mul(gate, value_row)
      y = Cast <to = {own}> (gated)
      {normal_value}
    }}"""


def norm_text(x: str, scale: str, result: str) -> str:
    """The nodes of `result`: x / sqrt(mean of squares along the last axis + epsilon) * scale, with a scale per branch."""
    return f"""
      {result}_square = Mul({x}, {x})
      {result}_axis = {vector([-1])}
      {result}_mean = ReduceMean({result}_square, {result}_axis)
      {result}_epsilon = Constant <value_float = @epsilon> ()
      {result}_positive = Add({result}_mean, {result}_epsilon)
      {result}_root = Sqrt({result}_positive)
      {result}_ratio = Div({x}, {result}_root)
      {result} = Mul({result}_ratio, {scale})"""
