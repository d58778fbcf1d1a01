"""Quantized matrix products of com.microsoft, and its QuantizeLinear and DequantizeLinear.

Spec: com.microsoft DequantizeLinear-1 DynamicQuantizeMatMul-1 MatMulInteger16-1 MatMulIntegerToFloat-1 QGemm-1
QuantizeLinear-1, as onnxruntime computes them.
"""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.microsoft.quantized_text import names_of, quantize_text, scalar_text
from sardonyx._src.ops.microsoft.text import DOMAIN
from sardonyx._src.ops.support.body_text import element_type, scalar

dequantize = Operator(
    "DequantizeLinear", DOMAIN, tolerance="rounding", about="DequantizeLinear of more types"
)
quantize = Operator("QuantizeLinear", DOMAIN, tolerance="rounding", about="QuantizeLinear to more types")
dynamic_matmul = Operator(
    "DynamicQuantizeMatMul",
    DOMAIN,
    tolerance="rounding",
    about="MatMul by a quantized matrix, of data quantized for it",
)
matmul_to_float = Operator(
    "MatMulIntegerToFloat", DOMAIN, tolerance="rounding", about="MatMul of quantized matrices, dequantized"
)
matmul_16 = Operator("MatMulInteger16", DOMAIN, about="MatMul of 16-bit integers with 32-bit results")
gemm = Operator("QGemm", DOMAIN, tolerance="rounding", about="Gemm of quantized matrices")


@dequantize.body(1, opset=21)
def dequantize_body(inference: Inference) -> str:
    return linear_text(inference, "DequantizeLinear")


@quantize.body(1, opset=21)
def quantize_body(inference: Inference) -> str:
    return linear_text(inference, "QuantizeLinear")


def linear_text(inference: Inference, op_type: str) -> str:
    """The body, a call of the operator of ai.onnx; without the attribute `axis`, scale and zero point become scalars."""
    if "axis" in inference.attributes:
        zero = ", zero" if inference.has(2) else ""
        return f"(x, scale, zero) => (y) {{ y = {op_type} <axis = @axis> (x, scale{zero}) }}"
    scale_nodes, scale = scalar_text(inference, 1, "scale")
    zero_nodes, zero = scalar_text(inference, 2, "zero") if inference.has(2) else ("", "")
    operands = ", ".join(filter(None, ("x", scale, zero)))
    return f"(x, scale, zero) => (y) {{ {scale_nodes} {zero_nodes} y = {op_type}({operands}) }}"


def one_element_text(inference: Inference, i: int, name: str) -> tuple[str, str]:
    """The result of `scalar_text` for an input of one element; any other input is unchanged."""
    shape = inference.shape(i)
    return scalar_text(inference, i, name) if shape in ((), (1,)) else ("", name)


def integer_product_text(inference: Inference, a: str, b: str, a_zero: int, b_zero: int) -> str:
    """The nodes of `product`, the float product of quantized matrices without their scales.

    a_zero, b_zero: the positions of the inputs `a_zero` and `b_zero`, the zero points; -1 if a node of the body computes it.
    """
    zeros, nodes = [], []
    for name, i in (("a_zero", a_zero), ("b_zero", b_zero)):
        if i < 0:
            zeros.append(name)
        elif inference.has(i):
            zero_nodes, zero = one_element_text(inference, i, name)
            nodes.append(zero_nodes)
            zeros.append(zero)
        else:
            zeros.append("")
    operands = ", ".join([a, b, *zeros]).rstrip(", ")
    nodes.append(f"integers = MatMulInteger({operands})")
    return "  ".join([*nodes, f"product = Cast <to = {int(DataType.FLOAT)}> (integers)"])


@dynamic_matmul.body(1, opset=13)
def dynamic_matmul_body(inference: Inference) -> str:
    return f"""(a, b, b_scale, b_zero, bias) => (y) {{
      rounded, a_scale, a_zero = DynamicQuantizeLinear(a)
      {integer_product_text(inference, "rounded", "b", -1, 3)}
      scale = Mul(a_scale, b_scale)
      {biased_text(inference, 4)}
    }}"""


@matmul_to_float.body(1, opset=13)
def matmul_to_float_body(inference: Inference) -> str:
    nodes, a_scale = one_element_text(inference, 2, "a_scale")
    return f"""(a, b, a_scale, b_scale, a_zero, b_zero, bias) => (y) {{
      {integer_product_text(inference, "a", "b", 4, 5)}
      {nodes} scale = Mul({a_scale}, b_scale)
      {biased_text(inference, 6)}
    }}"""


def biased_text(inference: Inference, bias: int) -> str:
    """The nodes of `y`: `product` times `scale`, plus the optional bias; bias: the position of this input."""
    if not inference.has(bias):
        return "y = Mul(product, scale)"
    return "scaled = Mul(product, scale)  y = Add(scaled, bias)"


@matmul_16.body(1, opset=13)
def matmul_16_body(inference: Inference) -> str:
    wide = DataType.INT32 if element_type(inference) is DataType.INT16 else DataType.UINT32
    return f"""(a, b) => (y) {{
      wide_a = Cast <to = {int(wide)}> (a)
      wide_b = Cast <to = {int(wide)}> (b)
      y = MatMul(wide_a, wide_b)
    }}"""


@gemm.body(1, opset=13)
def gemm_body(inference: Inference) -> str:
    """The addend c is an integer with the scale of the product; the result is float unless y_scale is given."""
    names = names_of("a a_scale a_zero b b_scale b_zero c y_scale y_zero")
    operands = "  ".join(
        f"left_{x} = Transpose <perm = [1, 0]> ({x})"
        if inference.integer(f"trans{x.upper()}")
        else f"left_{x} = Identity({x})"
        for x in "ab"
    )
    nodes, a_scale = one_element_text(inference, 1, "a_scale")
    addend = f"addend = Cast <to = {int(DataType.FLOAT)}> (c)  sum = Add(product, addend)"
    dtype = inference.dtype(8) or element_type(inference)
    result = (
        quantize_text(inference, names, 7, "wide", "y", dtype=dtype)
        if inference.has(7)
        else "y = Identity(wide)"
    )
    return f"""({", ".join(names)}) => (y) {{
      {operands}
      {integer_product_text(inference, "left_a", "left_b", 2, 5)}
      {addend if inference.has(6) else "sum = Identity(product)"}
      alpha = {scalar(inference.number("alpha"), DataType.FLOAT)}
      {nodes} scales = Mul({a_scale}, b_scale)
      scale = Mul(alpha, scales)
      wide = Mul(sum, scale)
      {result}
    }}"""
