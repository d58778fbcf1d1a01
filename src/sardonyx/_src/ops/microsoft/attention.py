"""Attention and QAttention of com.microsoft, which first project their input to queries, keys and values.

Spec: com.microsoft Attention-1 QAttention-1, as onnxruntime computes them.
"""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.microsoft.attention_text import (
    attention_text,
    key_count_text,
    merge_text,
    padding_text,
    split_text,
    sum_text,
)
from sardonyx._src.ops.microsoft.quantized_products import integer_product_text, one_element_text
from sardonyx._src.ops.microsoft.text import DOMAIN
from sardonyx._src.ops.support.body_text import element_type, vector

op = Operator("Attention", DOMAIN, tolerance="rounding", about="attention with the projections of its input")
quantized = Operator("QAttention", DOMAIN, tolerance="rounding", about="Attention with quantized projections")


@op.body(1, opset=23)
def attention_body(inference: Inference) -> str:
    names = ("x", "weights", "bias", "mask", "past", "attention_bias", "past_length")
    refuse(inference, past_length=6)
    product = "product = MatMul(x, weights)"
    projection = "projected = Add(product, bias)" if inference.has(2) else "projected = Identity(product)"
    return body_text(
        inference, names, f"{product} {projection}", mask=3, past=4, bias=5, dtype=element_type(inference)
    )


@quantized.body(1, opset=23)
def quantized_body(inference: Inference) -> str:
    names = ("x", "weights", "bias", "x_scale", "weights_scale", "mask", "a_zero", "b_zero", "past")
    refuse(inference, past_length=len(names))
    nodes, scale = one_element_text(inference, 3, "x_scale")
    projection = f"""
      {integer_product_text(inference, "x", "weights", 6, 7)}
      {nodes} scale = Mul({scale}, weights_scale)
      scaled = Mul(product, scale)
      projected = Add(scaled, bias)"""
    return body_text(
        inference, names, projection, mask=5, past=8, bias=len(names), dtype=element_type(inference, 3)
    )


def refuse(inference: Inference, *, past_length: int) -> None:
    """Raises InferenceError for what the body does not compute; past_length: the position of that input."""
    if inference.has(past_length) or inference.integer("past_present_share_buffer", 0):
        inference.fail("a body is known without shared buffers only")
    if inference.integer("do_rotary", 0):
        inference.fail("a body is known without rotary embedding only")


def body_text(
    inference: Inference,
    names: tuple[str, ...],
    projection: str,
    *,
    mask: int,
    past: int,
    bias: int,
    dtype: DataType,
) -> str:
    """The body of an operator with the inputs `names`.

    projection: the nodes of `projected`, queries, keys and values in one tensor.
    mask, past, bias: the positions of these inputs.
    dtype: the element type of the result.
    The past and the present are [2, batch, heads, length, size], keys before values.
    """
    has_past = inference.has(past)
    biases, x = [], inference.shape(0)
    nodes = [projection, heads_text(inference)]
    if has_past:
        nodes.append(f"""
      state_axis = {vector([0])}
      past_key_state, past_value_state = Split <axis = 0, num_outputs = 2> (past)
      past_key = Squeeze(past_key_state, state_axis)
      past_value = Squeeze(past_value_state, state_axis)""")
    if inference.has(mask):
        before = "past_key" if has_past else ""
        batch = None if x is None else x[0]
        nodes += [
            key_count_text("keys", before),
            padding_text(inference, mask, "mask", batch, past=before, dtype=dtype),
        ]
        biases.append("padding")
    if inference.has(bias):
        biases.append("attention_bias")
    if biases:
        nodes.append(sum_text(biases, "score_bias"))
    operands = ["queries", "keys", "values", "score_bias" if biases else ""]
    operands += ["past_key", "past_value"] if has_past else []
    has_present = inference.outputs > 1
    results = ["result", "present_key", "present_value"] if has_present else ["result"]
    causal = "is_causal = 1" if inference.integer("unidirectional") else ""
    nodes += [attention_text(inference, operands, results, causal), merge_text("result", "y")]
    if has_present:
        nodes.append(f"""
      front = {vector([0])}
      key_state = Unsqueeze(present_key, front)
      value_state = Unsqueeze(present_value, front)
      present = Concat <axis = 0> (key_state, value_state)""")
    return f"({', '.join(names)}) => ({'y, present' if has_present else 'y'}) {{ {' '.join(nodes)} }}"


def heads_text(inference: Inference) -> str:
    """The nodes of `queries`, `keys` and `values` from `projected`, [batch, length, sum of their widths]."""
    sizes = inference.integers("qkv_hidden_sizes") if "qkv_hidden_sizes" in inference.attributes else None
    if sizes:
        split = f"widths = {vector(sizes)}  parts_q, parts_k, parts_v = Split <axis = -1> (projected, widths)"
    else:
        split = "parts_q, parts_k, parts_v = Split <axis = -1, num_outputs = 3> (projected)"
    pairs = (("parts_q", "queries"), ("parts_k", "keys"), ("parts_v", "values"))
    return split + "".join(split_text(part, inference.integer("num_heads"), result) for part, result in pairs)
