"""Elementwise operators, Softmax and Concat of com.microsoft on quantized tensors: dequantized, computed, quantized.

Spec: com.microsoft QLinearAdd-1 QLinearConcat-1 QLinearLeakyRelu-1 QLinearMul-1 QLinearSigmoid-1 QLinearSoftmax-1
QLinearWhere-1, as onnxruntime computes them.
"""

from __future__ import annotations

from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.microsoft.quantized_text import dequantize_text, names_of, quantize_text
from sardonyx._src.ops.microsoft.text import DOMAIN
from sardonyx._src.ops.support.body_text import rank_of

add = Operator("QLinearAdd", DOMAIN, tolerance="rounding", about="Add of quantized tensors")
mul = Operator("QLinearMul", DOMAIN, tolerance="rounding", about="Mul of quantized tensors")
leaky_relu = Operator(
    "QLinearLeakyRelu", DOMAIN, tolerance="rounding", about="LeakyRelu of a quantized tensor"
)
sigmoid = Operator("QLinearSigmoid", DOMAIN, tolerance="rounding", about="Sigmoid of a quantized tensor")
softmax = Operator("QLinearSoftmax", DOMAIN, tolerance="rounding", about="Softmax of a quantized tensor")
where = Operator("QLinearWhere", DOMAIN, tolerance="rounding", about="Where of quantized tensors")
concat = Operator("QLinearConcat", DOMAIN, tolerance="rounding", about="Concat of quantized tensors")
FIRST_SOFTMAX_OF_ONE_AXIS = 13  # the operator set from which on Softmax normalizes along a single axis


@add.body(1, opset=13)
@mul.body(1, opset=13)
def binary_body(inference: Inference) -> str:
    names = names_of("a a_scale a_zero b b_scale b_zero c_scale c_zero")
    return f"""({", ".join(names)}) => (c) {{
      {dequantize_text(inference, names, 0, "left")}
      {dequantize_text(inference, names, 3, "right")}
      wide = {inference.op_type.removeprefix("QLinear")}(left, right)
      {quantize_text(inference, names, 6, "wide", "c")}
    }}"""


@leaky_relu.body(1, opset=13)
def leaky_relu_body(inference: Inference) -> str:
    return unary_text(inference, "LeakyRelu <alpha = @alpha> (wide)")


@sigmoid.body(1, opset=13)
def sigmoid_body(inference: Inference) -> str:
    return unary_text(inference, "Sigmoid(wide)")


@softmax.body(1, opset=13)
def softmax_body(inference: Inference) -> str:
    """The attribute `opset` selects the meaning of Softmax: before 13, the data are flattened to a matrix at the axis."""
    if inference.integer("opset") >= FIRST_SOFTMAX_OF_ONE_AXIS:
        return unary_text(inference, "Softmax <axis = @axis> (wide)")
    first = inference.axis(inference.integer("axis"), rank_of(inference))
    nodes = f"flat = Flatten <axis = {first}> (wide)  shares = Softmax <axis = -1> (flat)  shape = Shape(x)"
    return unary_text(inference, "Reshape(shares, shape)", nodes)


def unary_text(inference: Inference, call: str, nodes: str = "") -> str:
    """The body of an operator that applies `call` to `wide`, the dequantized input."""
    names = names_of("x x_scale x_zero y_scale y_zero")
    return f"""({", ".join(names)}) => (y) {{
      {dequantize_text(inference, names, 0, "wide")}
      {nodes}
      result = {call}
      {quantize_text(inference, names, 3, "result", "y")}
    }}"""


@where.body(1, opset=13)
def where_body(inference: Inference) -> str:
    names = names_of("condition x x_scale x_zero y y_scale y_zero z_scale z_zero")
    return f"""({", ".join(names)}) => (z) {{
      {dequantize_text(inference, names, 1, "left")}
      {dequantize_text(inference, names, 4, "right")}
      wide = Where(condition, left, right)
      {quantize_text(inference, names, 7, "wide", "z")}
    }}"""


@concat.body(1, opset=13)
def concat_body(inference: Inference) -> str:
    """The inputs are the scale and zero point of the result, and then each tensor with its own."""
    count = len(inference.inputs)
    if count % 3 != 2:
        inference.fail(f"the number of inputs must be 2 and 3 for each tensor; got {count}")
    names = [
        "y_scale",
        "y_zero",
        *(f"{part}_{i}" for i in range(count // 3) for part in ("x", "scale", "zero")),
    ]
    parts = [f"wide_{i}" for i in range(count // 3)]
    nodes = "\n".join(dequantize_text(inference, names, 2 + 3 * i, part) for i, part in enumerate(parts))
    return f"""({", ".join(names)}) => (y) {{
      {nodes}
      joined = Concat <axis = @axis> ({", ".join(parts)})
      {quantize_text(inference, names, 0, "joined", "y")}
    }}"""
