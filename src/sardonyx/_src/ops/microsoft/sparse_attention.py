"""SparseAttention of com.microsoft: causal attention over a cache, to the blocks of keys that a mask selects.

Spec: com.microsoft SparseAttention-1, as onnxruntime computes it.  The mask is a sparse matrix of blocks in CSR format (row
starts and column numbers).  There are several such matrices ("layouts"); head h uses number h modulo their count.
"""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.microsoft.attention_text import attention_text, merge_text
from sardonyx._src.ops.microsoft.group_query_attention import (
    places_text,
    rotary_text,
    split_heads_text,
)
from sardonyx._src.ops.microsoft.group_query_caches import cache_text
from sardonyx._src.ops.microsoft.text import DOMAIN
from sardonyx._src.ops.support.body_text import element_type, scalar, vector

op = Operator(
    "SparseAttention", DOMAIN, tolerance="rounding", about="attention over a cache with a mask of blocks"
)
INPUTS = "query, key, value, past_key, past_value, row_starts, columns, total, key_totals, cos, sin"
COS = 9  # the position of the input of cosines


@op.body(1, opset=24)
def body(inference: Inference) -> str:
    """query: [batch, new, heads * size], or wider if it contains keys and values; caches: [batch, kv heads, room, size]."""
    return f"""({INPUTS}) => (y, present_key, present_value) {{
      {split_heads_text(inference, "unrotated_queries", "unrotated_keys")}
      one_key = {scalar(1, DataType.INT32)}
      last_places = Sub(key_totals, one_key)
      {places_text()}
      {rotary_text(inference, cos=COS)}
      {cache_text(inference, "key", "new_keys")}
      {cache_text(inference, "value", "new_values")}
      {dense_mask_text(inference)}
      {score_bias_text(inference)}
      {attention_text(inference, ["queries", "present_key", "present_value", "score_bias"], ["result"])}
      {merge_text("result", "y")}
    }}"""


def dense_mask_text(inference: Inference) -> str:
    """The nodes of `head_blocks`, [heads, blocks, blocks] bool, from row_starts [layouts, blocks + 1] and columns."""
    heads = vector(list(range(inference.integer("num_heads"))))
    return f"""
      wide_starts = Cast <to = {int(DataType.INT64)}> (row_starts)
      wide_columns = Cast <to = {int(DataType.INT64)}> (columns)
      entry_size = Shape <start = 1> (columns)
      entry_count = Squeeze(entry_size)
      entries = Range(no_token, entry_count, one_token)
      from_first = {vector([0])}
      from_second = {vector([1])}
      before_last = {vector([-1])}
      to_end = {vector([(1 << 63) - 1])}
      start_rows = Slice(wide_starts, from_first, before_last, column)
      end_rows = Slice(wide_starts, from_second, to_end, column)
      last_axis = {vector([-1])}
      start_column = Unsqueeze(start_rows, last_axis)
      end_column = Unsqueeze(end_rows, last_axis)
      is_after_start = GreaterOrEqual(entries, start_column)
      is_before_end = Less(entries, end_column)
      is_of_row = And(is_after_start, is_before_end)
      block_size = Shape <start = 1> (start_rows)
      block_count = Squeeze(block_size)
      blocks = Range(no_token, block_count, one_token)
      entry_column = Unsqueeze(wide_columns, last_axis)
      is_of_column = Equal(entry_column, blocks)
      row_numbers = Cast <to = {int(DataType.FLOAT)}> (is_of_row)
      column_numbers = Cast <to = {int(DataType.FLOAT)}> (is_of_column)
      counts_of_blocks = MatMul(row_numbers, column_numbers)
      layout_blocks = Cast <to = {int(DataType.BOOL)}> (counts_of_blocks)
      layout_size = Shape <end = 1> (columns)
      heads = {heads}
      layouts_of_heads = Mod(heads, layout_size)
      head_blocks = Gather <axis = 0> (layout_blocks, layouts_of_heads)"""


def score_bias_text(inference: Inference) -> str:
    """The nodes of `score_bias`, [batch, heads, new, keys]: -inf for keys that a token does not see."""
    dtype = element_type(inference)
    return f"""
      key_size = Shape <start = 2, end = 3> (present_key)
      key_count = Squeeze(key_size)
      key_places = Range(no_token, key_count, one_token)
      tokens_of_block = {scalar(inference.integer("sparse_block_size"), DataType.INT64)}
      last_block = Sub(block_count, one_token)
      all_token_blocks = Div(places, tokens_of_block)
      token_blocks = Min(all_token_blocks, last_block)
      all_key_blocks = Div(key_places, tokens_of_block)
      key_blocks = Min(all_key_blocks, last_block)
      rows_of_tokens = Gather <axis = 1> (head_blocks, token_blocks)
      is_of_block_by_head = Gather <axis = 3> (rows_of_tokens, key_blocks)
      is_of_block = Transpose <perm = [1, 0, 2, 3]> (is_of_block_by_head)
      head_and_key = {vector([1, 3])}
      token_places = Unsqueeze(places, head_and_key)
      is_past = LessOrEqual(key_places, token_places)
      is_seen = And(is_past, is_of_block)
      lowest = {scalar(float("-inf"), dtype)}
      zero = {scalar(0, dtype)}
      score_bias = Where(is_seen, zero, lowest)"""
