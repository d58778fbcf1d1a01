"""Matrix products and convolutions of com.microsoft with fused scaling, transposition and activation.

Spec: com.microsoft FusedConv-1 FusedGemm-1 FusedMatMul-1 FusedMatMulActivation-1 NhwcFusedConv-1
TransposeMatMul-1, as onnxruntime computes them.
"""

from __future__ import annotations

from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.microsoft.activations import activation_text
from sardonyx._src.ops.microsoft.text import DOMAIN, string_attribute
from sardonyx._src.ops.support.body_text import element_type, rank_of, scalar

fused_matmul = Operator(
    "FusedMatMul", DOMAIN, tolerance="rounding", about="MatMul of scaled, transposed operands"
)
transpose_matmul = Operator("TransposeMatMul", DOMAIN, tolerance="rounding", about="an earlier FusedMatMul")
fused_matmul_activation = Operator(
    "FusedMatMulActivation", DOMAIN, tolerance="rounding", about="FusedMatMul with an activation"
)
fused_gemm = Operator("FusedGemm", DOMAIN, tolerance="rounding", about="Gemm with an activation")
fused_conv = Operator(
    "FusedConv", DOMAIN, tolerance="rounding", about="Conv with an addend and an activation"
)
nhwc_fused_conv = Operator(
    "NhwcFusedConv", DOMAIN, tolerance="rounding", about="FusedConv of images with channels last"
)
CONV_ATTRIBUTES = ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")


@fused_matmul.body(1, opset=13)
@transpose_matmul.body(1, opset=13)
def matmul_body(inference: Inference) -> str:
    return f"(a, b) => (y) {{ {product_text(inference, 'y')} }}"


@fused_matmul_activation.body(1, opset=13)
def matmul_activation_body(inference: Inference) -> str:
    return f"(a, b) => (y) {{ {product_text(inference, 'product')} {scalar_activation_text(inference, 'product')} }}"


def product_text(inference: Inference, result: str) -> str:
    """The nodes of `result`: alpha times the product of the operands, each transposed if its attribute is set."""
    operands = "".join(operand_text(inference, i, name) for i, name in enumerate("ab"))
    alpha = inference.number("alpha")
    if alpha == 1:
        return f"{operands} {result} = MatMul(left_a, left_b)"
    factor = scalar(alpha, element_type(inference))
    return (
        f"{operands} unscaled = MatMul(left_a, left_b)  factor = {factor}  {result} = Mul(factor, unscaled)"
    )


def operand_text(inference: Inference, i: int, name: str) -> str:
    """The nodes of `left_{name}`: an operand, transposed if the attributes require it and it is no vector.

    transBatch moves the first axis, a batch, before the last one.
    """
    side = name.upper()
    is_transposed = bool(inference.integer(f"trans{side}"))
    moves_batch = bool(inference.integer(f"transBatch{side}", 0))
    rank = rank_of(inference, i) if is_transposed or moves_batch else 0
    if rank < 2:
        return f"left_{name} = Identity({name})  "
    axes = [*range(1, rank - 1), 0, rank - 1] if moves_batch else list(range(rank))
    if is_transposed:
        axes[-2:] = axes[-1], axes[-2]
    return f"left_{name} = Transpose <perm = {axes}> ({name})  "


def scalar_activation_text(inference: Inference, x: str) -> str:
    """The nodes of `y`, the activation of x.

    Its parameters are the attributes activation_alpha, activation_beta and activation_gamma.
    """
    name = string_attribute(inference, "activation")
    given = (inference.attributes.get(f"activation_{word}") for word in ("alpha", "beta", "gamma"))
    parameters = [value for value in given if isinstance(value, float)]
    return activation_text(inference, name, parameters, x, "y", element_type(inference))


@fused_gemm.body(1, opset=13)
def gemm_body(inference: Inference) -> str:
    attributes = "alpha = @alpha, beta = @beta, transA = @transA, transB = @transB"
    operands = "a, b, c" if inference.has(2) else "a, b"
    return f"""(a, b, c) => (y) {{
      product = Gemm <{attributes}> ({operands})
      {scalar_activation_text(inference, "product")}
    }}"""


@fused_conv.body(1, opset=11)
def conv_body(inference: Inference) -> str:
    return f"(x, w, b, z) => (y) {{ {conv_text(inference, 'x', 'y')} }}"


def conv_text(inference: Inference, x: str, y: str) -> str:
    """The nodes of the convolution, of the sum with an addend, and of the activation."""
    attributes = ", ".join(f"{name} = @{name}" for name in CONV_ATTRIBUTES)
    bias = ", b" if inference.has(2) else ""
    parameters = inference.attributes.get("activation_params", ())
    assert isinstance(parameters, tuple), "activation_params is a list"
    name, dtype = string_attribute(inference, "activation"), element_type(inference)
    return f"""
      product = Conv <{attributes}> ({x}, w{bias})
      {"sum = Add(product, z)" if inference.has(3) else "sum = Identity(product)"}
      {activation_text(inference, name, [float(p) for p in parameters], "sum", y, dtype)}"""


@nhwc_fused_conv.body(1, opset=11)
def nhwc_conv_body(inference: Inference) -> str:
    """x, z, y: channels last; w: channels first."""
    rank = rank_of(inference)
    first, last = [0, rank - 1, *range(1, rank - 1)], [0, *range(2, rank), 1]
    return f"""(x, w, b, z_last) => (y) {{
      x_first = Transpose <perm = {first}> (x)
      {f"z = Transpose <perm = {first}> (z_last)" if inference.has(3) else ""}
      {conv_text(inference, "x_first", "y_first")}
      y = Transpose <perm = {last}> (y_first)
    }}"""
