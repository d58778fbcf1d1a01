"""MRotaryEmbedding of com.microsoft: rotary embedding with positions in time, height and width.

Spec: com.microsoft MRotaryEmbedding-1, as onnxruntime computes it.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.microsoft.rotary_embedding import heads_of
from sardonyx._src.ops.microsoft.text import DOMAIN, number_attribute
from sardonyx._src.ops.support.body_text import element_type, rank_of, scalar, vector

op = Operator(
    "MRotaryEmbedding", DOMAIN, tolerance="rounding", about="RotaryEmbedding with three positions per token"
)
STREAMS = 3  # time, height, width


@op.body(1, opset=23)
def body(inference: Inference) -> str:
    """x: [batch, length, heads * size] or [batch, heads, length, size]; positions: [3, batch, length].

    Each column of the caches belongs to one of the three positions, which selects the row of the column.
    """
    if inference.integer("is_packed_batching", 0):
        inference.fail("is_packed_batching must be 0: packed batches are not supported")
    rank = rank_of(inference)
    rotated = inference.integer("rotary_embedding_dim", 0)
    attributes = f"interleaved = {inference.integer('interleaved', 0)}, rotary_embedding_dim = {rotated}"
    if rank == 3:
        attributes += f", num_heads = {inference.integer('num_heads', 0) or heads_of(inference, rank)}"
    streams = streams_of(inference)
    scale = number_attribute(inference, "scale", 1.0)
    scaled = f"factor = {scalar(scale, element_type(inference))}  y = Mul(rotated, factor)"
    return f"""(x, positions, cos, sin) => (y) {{
      streams = {vector(streams)}
      rows = Gather <axis = 0> (positions, streams)
      token_rows = Transpose <perm = [1, 2, 0]> (rows)
      columns = {vector(list(range(len(streams))))}
      shape = Shape(token_rows)
      all_columns = Expand(columns, shape)
      last = {vector([-1])}
      row_column = Unsqueeze(token_rows, last)
      column_column = Unsqueeze(all_columns, last)
      places = Concat <axis = -1> (row_column, column_column)
      cos_rows = GatherND(cos, places)
      sin_rows = GatherND(sin, places)
      rotated = RotaryEmbedding <{attributes}> (x, cos_rows, sin_rows)
      {"y = Identity(rotated)" if scale == 1 else scaled}
    }}"""


def streams_of(inference: Inference) -> Sequence[int]:
    """The stream (0: time, 1: height, 2: width) of each column of the caches."""
    sections = inference.integers("mrope_section")
    if sections is None or len(sections) != STREAMS or min(sections) < 0:
        inference.fail(f"mrope_section must have three sizes; got {sections}")
    if inference.integer("mrope_layout", 0) == 0:
        return [stream for stream, size in enumerate(sections) for _ in range(size)]
    width = sum(sections)
    streams = [0] * width
    for stream in (1, 2):
        for column in range(stream, min(STREAMS * sections[stream], width), STREAMS):
            streams[column] = stream
    return streams
