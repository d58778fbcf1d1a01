"""LinearAttention, its gate and CausalConvWithState of com.microsoft, as far as operators of ai.onnx compute them.

Spec: com.microsoft CausalConvWithState-1 LinearAttention-1 LinearAttentionGate-1, as onnxruntime computes them.
"""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.microsoft.text import DOMAIN, results_text
from sardonyx._src.ops.support.body_text import element_type

attention = Operator(
    "LinearAttention",
    DOMAIN,
    tolerance="rounding",
    about="LinearAttention, optionally with the states of earlier tokens",
)
gate = Operator(
    "LinearAttentionGate", DOMAIN, tolerance="rounding", about="decay and update rate of LinearAttention"
)
conv = Operator(
    "CausalConvWithState", DOMAIN, tolerance="rounding", about="CausalConvWithState in more dimensions"
)


@attention.body(1, opset=27)
def attention_body(inference: Inference) -> str:
    if inference.integer("state_window"):
        inference.fail("a body is known without state_window only")
    names = ["q", "k", "v", "past", "decay", "beta"]
    operands = ", ".join(name if inference.has(i) else "" for i, name in enumerate(names)).rstrip(", ")
    attributes = ("chunk_size", "kv_num_heads", "q_num_heads", "scale", "update_rule")
    options = ", ".join(f"{name} = @{name}" for name in attributes)
    return f"({', '.join(names)}) => (y, present) {{ y, present = LinearAttention <{options}> ({operands}) }}"


@gate.body(1, opset=13)
def gate_body(inference: Inference) -> str:
    own, wide = int(element_type(inference)), int(DataType.FLOAT)
    rate = f"""
      wide_b = Cast <to = {wide}> (b)
      wide_beta = Sigmoid(wide_b)
      beta = Cast <to = {own}> (wide_beta)"""
    return f"""(a, bias, scale, b) => {results_text(inference, "decay", "beta")} {{
      wide_a = Cast <to = {wide}> (a)
      biased = Add(wide_a, bias)
      positive = Softplus(biased)
      wide_decay = Mul(positive, scale)
      decay = Cast <to = {own}> (wide_decay)
      {rate if inference.outputs > 1 else ""}
    }}"""


@conv.body(1, opset=27)
def conv_body(inference: Inference) -> str:
    options = [inference.integer(name) for name in ("ndim", "dilation", "channels_last", "state_window")]
    if options != [1, 1, 0, 0]:
        inference.fail(
            "a body is known for one dimension, channels first, without dilation and state_window only"
        )
    names = ["x", "w", "bias", "past"]
    operands = ", ".join(name if inference.has(i) else "" for i, name in enumerate(names)).rstrip(", ")
    call = f"CausalConvWithState <activation = @activation> ({operands})"
    return f"({', '.join(names)}) => (y, present) {{ y, present = {call} }}"
