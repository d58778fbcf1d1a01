"""RotaryEmbedding of com.microsoft, whose positions may be one offset for all tokens.

Spec: com.microsoft RotaryEmbedding-1, as onnxruntime computes it.
"""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import exact_div
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.microsoft.text import DOMAIN, number_attribute
from sardonyx._src.ops.support.body_text import element_type, rank_of, scalar

op = Operator(
    "RotaryEmbedding", DOMAIN, tolerance="rounding", about="RotaryEmbedding with an offset or positions"
)


@op.body(1, opset=23)
def body(inference: Inference) -> str:
    """x: [batch, length, heads * size] or [batch, heads, length, size]; positions: [1] or [batch, length]."""
    rank = rank_of(inference)
    if inference.integer("is_packed_batching", 0):
        inference.fail("is_packed_batching must be 0: packed batches are not supported")
    heads = inference.integer("num_heads", 0) or heads_of(inference, rank)
    rotated = inference.integer("rotary_embedding_dim", 0)
    attributes = f"interleaved = {inference.integer('interleaved', 0)}, rotary_embedding_dim = {rotated}"
    if rank == 3:
        attributes += f", num_heads = {heads}"
    scale = number_attribute(inference, "scale", 1.0)
    scaled = f"factor = {scalar(scale, element_type(inference))}  y = Mul(rotated, factor)"
    return f"""(x, positions, cos, sin) => (y) {{
      {positions_text(inference, rank)}
      rotated = RotaryEmbedding <{attributes}> (x, cos, sin, all_positions)
      {"y = Identity(rotated)" if scale == 1 else scaled}
    }}"""


def heads_of(inference: Inference, rank: int) -> int:
    """The number of heads, if the attribute is omitted: a head has twice as many elements as a row of the caches.

    0 for an input of rank 4, for which the attribute is not needed: its axis 1 is that of the heads.
    """
    if rank == 4:
        return 0
    x, cache = inference.shape(0), inference.shape(2)
    heads = (
        None if x is None or cache is None or cache[1] is None else exact_div(exact_div(x[2], 2), cache[1])
    )
    return heads if isinstance(heads, int) else inference.fail("the number of heads must be known")


def positions_text(inference: Inference, rank: int) -> str:
    """The nodes of `all_positions`, [batch, length]; one position is that of the first token of each batch entry."""
    if rank_of(inference, 1) == 2:
        return "all_positions = Identity(positions)"
    axis = rank - 2
    return f"""
      batch = Shape <end = 1> (x)
      length = Shape <start = {axis}, end = {axis + 1}> (x)
      zero = {scalar(0, DataType.INT64)}
      step = {scalar(1, DataType.INT64)}
      count = Squeeze(length)
      steps = Range(zero, count, step)
      row = Add(steps, positions)
      sizes = Concat <axis = 0> (batch, length)
      all_positions = Expand(row, sizes)"""
