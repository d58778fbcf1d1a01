"""MultiHeadAttention and DecoderMaskedMultiHeadAttention of com.microsoft: attention of projected queries and keys.

Spec: com.microsoft DecoderMaskedMultiHeadAttention-1 MultiHeadAttention-1, as onnxruntime computes them.
"""

from __future__ import annotations

from collections.abc import Mapping

from sardonyx._src.dtypes import DataType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.microsoft.attention_text import (
    attention_text,
    key_count_text,
    merge_text,
    padding_text,
    part_text,
    split_text,
    sum_text,
)
from sardonyx._src.ops.microsoft.text import DOMAIN
from sardonyx._src.ops.support.body_text import SLICE_END, element_type, rank_of, vector

INPUTS = (
    "query",
    "key",
    "value",
    "bias",
    "mask",
    "attention_bias",
    "past_key",
    "past_value",
    "past_length",
    "cache_indirection",
)
DECODER_INPUTS = (
    "query",
    "key",
    "value",
    "mask",
    "attention_bias",
    "past_key",
    "past_value",
    "past_length",
    "beam_width",
    "cache_indirection",
    "bias",
)
attention = Operator(
    "MultiHeadAttention",
    DOMAIN,
    tolerance="rounding",
    about="attention of projected queries, keys and values",
    counts=(INPUTS.index("past_length"),),
)
decoder = Operator(
    "DecoderMaskedMultiHeadAttention",
    DOMAIN,
    tolerance="rounding",
    about="MultiHeadAttention of one query",
    counts=(DECODER_INPUTS.index("past_length"),),
)
STATES = ("present_key", "present_value")
# The nodes of `present_key` and `present_value`, buffers with the new entries, and of `keys` and `values`, their used parts.
BUFFER_TEXT = f"""
      one_size = {vector([-1])}
      wide_length = Cast <to = {int(DataType.INT64)}> (past_length)
      old_size = Reshape(wide_length, one_size)
      batch = Shape <end = 1> (query)
      old = Expand(old_size, batch)
      present_key = TensorScatter <axis = 2> (past_key, new_keys, old)
      present_value = TensorScatter <axis = 2> (past_value, new_values, old)
      new_size = Shape <start = 2, end = 3> (new_keys)
      used_size = Add(old_size, new_size)
      first = {vector([0])}
      length_axis = {vector([2])}
      keys = Slice(present_key, first, used_size, length_axis)
      values = Slice(present_value, first, used_size, length_axis)"""


@attention.body(1, opset=24)
def attention_body(inference: Inference) -> str:
    return body_text(inference, INPUTS, is_causal=bool(inference.integer("unidirectional")))


@decoder.body(1, opset=24)
def decoder_body(inference: Inference) -> str:
    return body_text(inference, DECODER_INPUTS, is_causal=False)


def body_text(inference: Inference, names: tuple[str, ...], *, is_causal: bool) -> str:
    """The body of an operator with the inputs `names`.

    With a past_length, the past keys and values are buffers into which the new ones are written.
    """
    positions = {name: i for i, name in enumerate(names)}
    if inference.has(positions["cache_indirection"]):
        inference.fail("a body is known without cache_indirection only")
    has_buffer = inference.has(positions["past_length"]) and inference.has(positions["past_key"])
    past = "past_key" if inference.has(positions["past_key"]) and not has_buffer else ""
    if has_buffer and is_causal:
        inference.fail("a body is known for buffers without unidirectional only")
    biases = []
    nodes = [operands_text(inference, positions, "new_keys new_values" if has_buffer else "keys values")]
    if has_buffer:
        nodes.append(BUFFER_TEXT)
    if inference.has(positions["mask"]):
        query = inference.shape(0)
        batch = None if query is None else query[0]
        nodes += [
            key_count_text("keys", past),
            padding_text(
                inference, positions["mask"], "mask", batch, past=past, dtype=element_type(inference)
            ),
        ]
        biases.append("padding")
    if inference.has(positions["attention_bias"]):
        biases.append("attention_bias")
    if biases:
        nodes.append(sum_text(biases, "score_bias"))
    operands = ["queries", "keys", "values", "score_bias" if biases else "", past, past and "past_value"]
    results = ["result", *(STATES if not has_buffer else ("all_keys", "all_values")), "qk"][
        : max(1, inference.outputs)
    ]
    options = [f"is_causal = {int(is_causal)}"] if is_causal else []
    nodes.append(attention_text(inference, operands, results, ", ".join(options)))
    nodes.append(merge_text("result", "y"))
    outputs = ", ".join(["y", *STATES, "qk"][: len(results)])
    return f"({', '.join(names)}) => ({outputs}) {{ {' '.join(nodes)} }}"


def operands_text(inference: Inference, positions: Mapping[str, int], results: str) -> str:
    """The nodes of queries, keys and values, [batch, heads, length, size], from unpacked or packed inputs.

    results: the names of keys and values, separated by a space; the queries are named `queries`.
    """
    keys, values = results.split()
    heads = inference.integer("num_heads")
    has_bias = inference.has(positions["bias"])
    if not inference.has(1):
        return packed_text(inference, "query", ["queries", keys, values], has_bias=has_bias)
    key_rank = rank_of(inference, 1)
    if key_rank == 5:
        query = biased_text("query", 0, has_bias=has_bias)
        return f"{query} {split_text('query_biased', heads, 'queries')} {packed_pair_text(keys, values)}"
    nodes = [biased_text("query", 0, has_bias=has_bias), split_text("query_biased", heads, "queries")]
    for i, (name, result) in enumerate((("key", keys), ("value", values)), start=1):
        if rank_of(inference, i) == 4:
            nodes.append(f"{result} = Identity({name})")
        else:
            nodes.append(biased_text(name, i, has_bias=has_bias))
            nodes.append(split_text(f"{name}_biased", heads, result))
    return " ".join(nodes)


def biased_text(name: str, part: int, *, has_bias: bool) -> str:
    """The nodes of `{name}_biased`: the projection plus its part of the bias; part: 0 for queries, 1 for keys, 2 for values."""
    if not has_bias:
        return f"{name}_biased = Identity({name})"
    width = "query_width = Shape <start = -1> (query)" if part == 0 else ""
    starts = (
        f"bias_start_0 = {vector([0])}",
        "bias_start_1 = Identity(query_width)",
        "bias_start_2 = Add(query_width, query_width)",
    )
    ends = (
        "bias_end_0 = Identity(query_width)",
        "bias_end_1 = Add(query_width, query_width)",
        f"bias_end_2 = {vector([SLICE_END])}",
    )
    return f"""{width} {starts[part]} {ends[part]}
      {part_text("bias", f"bias_{part}", f"bias_start_{part}", f"bias_end_{part}")}
      {name}_biased = Add({name}, bias_{part})"""


def packed_text(inference: Inference, name: str, results: list[str], *, has_bias: bool) -> str:
    """The nodes of `results` (queries, keys and values) from one input.

    It is [batch, length, heads, 3, size] or [batch, length, 3 * hidden].
    """
    heads = inference.integer("num_heads")
    nodes = []
    if rank_of(inference) == 3:
        nodes.append(f"packed = {'Add(query, bias)' if has_bias else 'Identity(query)'}")
        nodes.append("parts_0, parts_1, parts_2 = Split <axis = -1, num_outputs = 3> (packed)")
        nodes += [split_text(f"parts_{i}", heads, result) for i, result in enumerate(results)]
        return " ".join(nodes)
    source = name
    if has_bias:  # the bias, [3 * hidden], becomes [heads, 3, size]
        nodes.append(f"""
      bias_shape = {vector([3, heads, -1])}
      bias_heads = Reshape(bias, bias_shape)
      bias_packed = Transpose <perm = [1, 0, 2]> (bias_heads)
      packed = Add({name}, bias_packed)""")
        source = "packed"
    nodes.append(
        f"part_axis = {vector([3])}  part_0, part_1, part_2 = Split <axis = 3, num_outputs = 3> ({source})"
    )
    for i, result in enumerate(results):
        nodes.append(
            f"row_{i} = Squeeze(part_{i}, part_axis)  {result} = Transpose <perm = [0, 2, 1, 3]> (row_{i})"
        )
    return " ".join(nodes)


def packed_pair_text(keys: str, values: str) -> str:
    """The nodes of keys and values from the input `key`, [batch, length, heads, 2, size]; no bias is added to them."""
    nodes = [f"part_axis = {vector([3])}  part_1, part_2 = Split <axis = 3, num_outputs = 2> (key)"]
    for i, result in ((1, keys), (2, values)):
        nodes.append(
            f"row_{i} = Squeeze(part_{i}, part_axis)  {result} = Transpose <perm = [0, 2, 1, 3]> (row_{i})"
        )
    return " ".join(nodes)
