"""Building blocks for the bodies of the attention operators of com.microsoft.

The functions return nodes of a body in the textual syntax of ONNX.  Queries, keys and values are [batch, heads, length,
size]; masks become biases that are added to the scores.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Dim, known_equal
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.microsoft.text import number_attribute
from sardonyx._src.ops.support.body_text import rank_of, scalar, vector

MASKED_SCORE = (
    -10000.0
)  # added to the score of a masked key, unless the attribute mask_filter_value says otherwise


def split_text(name: str, heads: int, result: str) -> str:
    """The nodes of `result`: the tensor `name`, [batch, length, heads * size], as [batch, heads, length, size]."""
    return f"""
      {name}_split_shape = {vector([0, 0, heads, -1])}
      {name}_split = Reshape({name}, {name}_split_shape)
      {result} = Transpose <perm = [0, 2, 1, 3]> ({name}_split)"""


def merge_text(name: str, result: str) -> str:
    """The nodes of `result`: the tensor `name`, [batch, heads, length, size], as [batch, length, heads * size]."""
    return f"""
      {name}_turned = Transpose <perm = [0, 2, 1, 3]> ({name})
      {name}_merged_shape = {vector([0, 0, -1])}
      {result} = Reshape({name}_turned, {name}_merged_shape)"""


def key_count_text(keys: str, past: str) -> str:
    """The nodes of `key_count`, [1]: the number of all keys; past: the name of the past keys, "" if there are none."""
    if not past:
        return f"key_count = Shape <start = 2, end = 3> ({keys})"
    return f"""
      new_count = Shape <start = 2, end = 3> ({keys})
      past_count = Shape <start = 2, end = 3> ({past})
      key_count = Add(new_count, past_count)"""


def padding_text(inference: Inference, i: int, name: str, batch: Dim, *, past: str, dtype: DataType) -> str:
    """The nodes of `padding`, the bias of masked keys, [batch or 1, 1, queries or 1, keys], from the mask in input i.

    The rank of the mask decides its meaning:
    1: the number of keys of each batch entry; if it has 2 * batch elements, then also the first key of each entry.
    2 or 3: [batch, keys] or [batch, queries, keys], 0 for masked keys.
    4: [batch, 1, most keys, most keys], 0 for masked keys; the rows of the present queries are used.
    The nodes read `key_count` and `queries`.
    """
    rank = rank_of(inference, i)
    value = number_attribute(inference, "mask_filter_value", MASKED_SCORE)
    if not 1 <= rank <= 4:
        inference.fail(f"the mask must have rank 1 to 4; got {rank}")
    if rank == 1:
        text = length_mask_text(inference, i, name, batch)
    else:
        text = square_mask_text(name, past) if rank == 4 else key_mask_text(name, rank)
    return f"""{text}
      masked_score = {scalar(value, dtype)}
      visible_score = {scalar(0, dtype)}
      padding = Where(is_visible, visible_score, masked_score)"""


def key_mask_text(name: str, rank: int) -> str:
    """The nodes of `is_visible` for a mask of rank 2 or 3."""
    return f"""
      has_word = Cast <to = {int(DataType.BOOL)}> ({name})
      inner = {vector([1, 2] if rank == 2 else [1])}
      is_visible = Unsqueeze(has_word, inner)"""


def square_mask_text(name: str, past: str) -> str:
    """The nodes of `is_visible` for a mask of rank 4."""
    before = f"before = Shape <start = 2, end = 3> ({past})" if past else f"before = {vector([0])}"
    return f"""
      {before}
      query_count = Shape <start = 2, end = 3> (queries)
      end_place = Add(before, query_count)
      first_key = {vector([0])}
      starts = Concat <axis = 0> (before, first_key)
      ends = Concat <axis = 0> (end_place, key_count)
      axes = {vector([2, 3])}
      part = Slice({name}, starts, ends, axes)
      is_visible = Cast <to = {int(DataType.BOOL)}> (part)"""


def length_mask_text(inference: Inference, i: int, name: str, batch: Dim) -> str:
    """The nodes of `is_visible` for a mask of rank 1."""
    shape = inference.shape(i)
    assert shape is not None, "the mask has a known rank"
    nodes = f"""
      no_key = {scalar(0, DataType.INT64)}
      one_key = {scalar(1, DataType.INT64)}
      keys_in_all = Squeeze(key_count)
      places = Range(no_key, keys_in_all, one_key)
      columns = {vector([-1, 1, 1, 1])}
      wide_lengths = Cast <to = {int(DataType.INT64)}> ({name})"""
    if known_equal(shape[0], batch) or not (isinstance(shape[0], int) and isinstance(batch, int)):
        return f"{nodes} ends = Reshape(wide_lengths, columns)  is_visible = Less(places, ends)"
    if shape[0] != 2 * batch:
        inference.fail(f"a mask of rank 1 must have {batch} or {2 * batch} elements; got {shape[0]}")
    return f"""{nodes}
      end_places, start_places = Split <axis = 0, num_outputs = 2> (wide_lengths)
      ends = Reshape(end_places, columns)
      starts = Reshape(start_places, columns)
      is_before_end = Less(places, ends)
      is_after_start = GreaterOrEqual(places, starts)
      is_visible = And(is_before_end, is_after_start)"""


def sum_text(names: Sequence[str], result: str) -> str:
    """The nodes of `result`, the sum of the tensors `names`."""
    nodes = [f"sum_0 = Identity({names[0]})"]
    nodes += [f"sum_{i} = Add(sum_{i - 1}, {name})" for i, name in enumerate(names) if i]
    return "  ".join([*nodes, f"{result} = Identity(sum_{len(names) - 1})"])


def attention_text(
    inference: Inference, operands: Sequence[str], results: Sequence[str], attributes: str = ""
) -> str:
    """The call of Attention of ai.onnx.

    operands: the names of queries, keys, values, bias, past keys and past values, "" for an omitted one.
    attributes: attributes besides the scale.
    """
    scale = number_attribute(inference, "scale", 0.0)
    options = ", ".join(filter(None, (f"scale = {scale!r}" if scale else "", attributes)))
    given = ", ".join(operands).rstrip(", ")
    return f"{', '.join(results)} = Attention {f'<{options}>' if options else ''} ({given})"


def part_text(name: str, result: str, start: str, end: str) -> str:
    """The nodes of `result`: `name` from `start` to `end` along the last axis; both are vectors of one element."""
    return f"{result}_axis = {vector([-1])}  {result} = Slice({name}, {start}, {end}, {result}_axis)"
