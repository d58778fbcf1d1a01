"""The Gelu operators of com.microsoft: exact, approximate, and with a bias.

Spec: com.microsoft BiasGelu-1 FastGelu-1 Gelu-1 QuickGelu-1, as onnxruntime computes them.
"""

from __future__ import annotations

from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.microsoft.text import DOMAIN
from sardonyx._src.ops.support.body_text import element_type, scalar

gelu = Operator("Gelu", DOMAIN, tolerance="rounding", elementwise=True, about="the exact Gelu")
bias_gelu = Operator("BiasGelu", DOMAIN, tolerance="rounding", about="the exact Gelu of a sum")
fast_gelu = Operator(
    "FastGelu", DOMAIN, tolerance="rounding", about="the Gelu by tanh, of a sum if there is a bias"
)
quick_gelu = Operator(
    "QuickGelu", DOMAIN, tolerance="rounding", elementwise=True, about="x * sigmoid(alpha * x)"
)


@gelu.body(1, opset=20)
def gelu_body(inference: Inference) -> str:
    return "(x) => (y) { y = Gelu(x) }"


@bias_gelu.body(1, opset=20)
def bias_gelu_body(inference: Inference) -> str:
    return "(x, bias) => (y) { sum = Add(x, bias) y = Gelu(sum) }"


@fast_gelu.body(1, opset=20)
def fast_gelu_body(inference: Inference) -> str:
    total = "Add(x, bias)" if inference.has(1) else "Identity(x)"
    return f'(x, bias) => (y) {{ sum = {total} y = Gelu <approximate = "tanh"> (sum) }}'


@quick_gelu.body(1, opset=13)
def quick_gelu_body(inference: Inference) -> str:
    return f"""(x) => (y) {{
      alpha = {scalar(inference.number("alpha"), element_type(inference))}
      scaled = Mul(alpha, x)
      gate = Sigmoid(scaled)
      y = Mul(x, gate)
    }}"""
