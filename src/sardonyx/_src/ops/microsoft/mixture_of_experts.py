"""MoE and QMoE of com.microsoft: mixtures of experts.

A router chooses the k best experts for each token; the result is the sum of their results, weighted by the router.

Spec: com.microsoft MoE-1 QMoE-1, as onnxruntime computes them.  The bodies run every expert on every token; an expert that
the router does not choose has the weight 0.
"""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.microsoft.packed_weights import cut_text, unpack_text
from sardonyx._src.ops.microsoft.text import DOMAIN, number_attribute, string_attribute
from sardonyx._src.ops.support.body_text import SLICE_END, element_type, scalar, vector

moe = Operator("MoE", DOMAIN, tolerance="rounding", about="a mixture of experts, each of two layers")
qmoe = Operator("QMoE", DOMAIN, tolerance="rounding", about="MoE with weights of 2, 4 or 8 bits")
MOE_INPUTS = ("x", "router", "w1", "b1", "w2", "b2", "w3", "b3")
QMOE_INPUTS = (
    "x",
    "router",
    "q1",
    "s1",
    "b1",
    "q2",
    "s2",
    "b2",
    "q3",
    "s3",
    "b3",
    "z1",
    "z2",
    "z3",
    "router_weights",
)


@moe.body(1, opset=20)
def moe_body(inference: Inference) -> str:
    return body_text(inference, MOE_INPUTS, has_third=inference.has(6), nodes="")


@qmoe.body(1, opset=21)
def qmoe_body(inference: Inference) -> str:
    if string_attribute(inference, "quant_type") != "int" or inference.integer("weights_prepacked") > 0:
        inference.fail("a body is known for integer weights that are not prepacked only")
    if any(inference.has(i) for i in range(len(QMOE_INPUTS), len(inference.given))):
        inference.fail("a body is known without global and activation scales only")
    layers = [1, 2, 3] if inference.has(8) else [1, 2]
    nodes = " ".join(weights_text(inference, layer) for layer in layers)
    return body_text(inference, QMOE_INPUTS, has_third=inference.has(8), nodes=nodes)


def weights_text(inference: Inference, layer: int) -> str:
    """The nodes of the weights of a layer, [experts, outputs, inputs]: `w1`, `w2` or `w3`."""
    positions = {name: i for i, name in enumerate(QMOE_INPUTS)}
    shape, scales = inference.shape(positions[f"q{layer}"]), inference.shape(positions[f"s{layer}"])
    own_bits = inference.integer(f"fc{layer}_expert_weight_bits", 0)
    bits = own_bits or inference.integer("expert_weight_bits")
    if shape is None or scales is None or not all(isinstance(dim, int) for dim in shape):
        inference.fail(f"the sizes of the weights of layer {layer} must be known")
    experts, rows, width = (dim for dim in shape if isinstance(dim, int))
    inner = width * 8 // bits
    size = inference.integer("block_size", 0) if len(scales) == 3 else inner
    blocks = inner // size
    return f"""
      {unpack_text(f"q{layer}", f"codes_{layer}", bits, [experts, rows, inner])}
      scale_shape_{layer} = {vector([experts, rows, blocks])}
      scales_{layer} = Reshape(s{layer}, scale_shape_{layer})
      {zeros_text(inference, layer, positions[f"z{layer}"], bits, [experts, rows, blocks])}
      w{layer} = DequantizeLinear <axis = 2, block_size = {size}> (codes_{layer}, scales_{layer}, zeros_{layer})"""


def zeros_text(inference: Inference, layer: int, i: int, bits: int, shape: list[int]) -> str:
    """The nodes of `zeros_{layer}`, the zero points of a layer; a packed row is padded to whole bytes."""
    if not inference.has(i):
        middle = scalar(1 << (bits - 1), DataType.UINT8)
        return f"middle_{layer} = {middle}  zeros_{layer} = Expand(middle_{layer}, scale_shape_{layer})"
    experts, rows, blocks = shape
    packed = inference.shape(i)
    if packed is None:
        inference.fail(f"the rank of the zero points of layer {layer} must be known")
    lines, length = ([experts], rows) if len(packed) == 2 else ([experts, rows], blocks)
    padded = -(-length * bits // 8) * 8 // bits
    return f"""
      {unpack_text(f"z{layer}", f"all_zeros_{layer}", bits, [*lines, padded])}
      {cut_text(f"all_zeros_{layer}", f"own_zeros_{layer}", len(lines), length)}
      zeros_{layer} = Reshape(own_zeros_{layer}, scale_shape_{layer})"""


def body_text(inference: Inference, names: tuple[str, ...], *, has_third: bool, nodes: str) -> str:
    """The body; names: its inputs; has_third: whether there is a third layer; nodes: those of the weights `w1` to `w3`."""
    if inference.integer("use_sparse_mixer"):
        inference.fail("a body is known without use_sparse_mixer only")
    positions = {name: i for i, name in enumerate(names)}
    has = {layer: inference.has(positions[f"b{layer}"]) for layer in (1, 2, 3)}
    third = layer_text(3, "tokens", has_bias=has[3]) if has_third else ""
    weights = (
        "router_weights"
        if "router_weights" in positions and inference.has(positions["router_weights"])
        else ""
    )
    return f"""({", ".join(names)}) => (y) {{
      {nodes}
      row = Shape <start = -1> (x)
      all_rows = {vector([-1])}
      matrix_shape = Concat <axis = 0> (all_rows, row)
      tokens = Reshape(x, matrix_shape)
      {router_text(inference, weights)}
      {layer_text(1, "tokens", has_bias=has[1])}
      {third}
      {activation_text(inference, has_third=has_third)}
      {layer_text(2, "hidden", has_bias=has[2])}
      gate_order = Transpose <perm = [1, 0]> (gates)
      last = {vector([2])}
      gate_column = Unsqueeze(gate_order, last)
      parts = Mul(result_2, gate_column)
      experts_axis = {vector([0])}
      sums = ReduceSum <keepdims = 0> (parts, experts_axis)
      shape = Shape(x)
      y = Reshape(sums, shape)
    }}"""


def router_text(inference: Inference, weights: str) -> str:
    """The nodes of `gates`, [tokens, experts]: the weights of the chosen experts, 0 for the others.

    weights: the name of an input with the weights of the experts; "" if the router's probabilities are the weights.
    """
    dtype = element_type(inference)
    chosen = "chosen = Identity(best)"
    if weights:
        chosen = f"chosen = GatherElements <axis = 1> ({weights}, places)"
    if inference.integer("normalize_routing_weights"):
        chosen += f"""
      choice_axis = {vector([1])}
      total = ReduceSum(chosen, choice_axis)
      chosen_gates = Div(chosen, total)"""
    else:
        chosen += "  chosen_gates = Identity(chosen)"
    return f"""
      shares = Softmax <axis = -1> (router)
      count = {vector([inference.integer("k")])}
      best, places = TopK <axis = -1> (shares, count)
      {chosen}
      sizes = Shape(router)
      nothing = {scalar(0, dtype)}
      no_gates = Expand(nothing, sizes)
      gates = ScatterElements <axis = 1> (no_gates, places, chosen_gates)"""


def layer_text(layer: int, x: str, *, has_bias: bool) -> str:
    """The nodes of `result_{layer}`, [experts, tokens, outputs]."""
    bias = f"""
      bias_axis_{layer} = {vector([1])}
      bias_{layer} = Unsqueeze(b{layer}, bias_axis_{layer})
      result_{layer} = Add(product_{layer}, bias_{layer})"""
    return f"""
      columns_{layer} = Transpose <perm = [0, 2, 1]> (w{layer})
      product_{layer} = MatMul({x}, columns_{layer})
      {bias if has_bias else f"result_{layer} = Identity(product_{layer})"}"""


def activation_text(inference: Inference, *, has_third: bool) -> str:
    """The nodes of `hidden`: the activation of the first layer's results, times those of the third layer if there is one."""
    kind = string_attribute(inference, "activation_type")
    if kind == "swiglu":
        return swiglu_text(inference, has_third=has_third)
    calls = {
        "relu": "active = Relu(result_1)",
        "gelu": 'active = Gelu <approximate = "tanh"> (result_1)',
        "silu": "gate = Sigmoid(result_1)  active = Mul(result_1, gate)",
        "identity": "active = Identity(result_1)",
    }
    if kind not in calls:
        inference.fail(f"activation_type must be one of {', '.join(calls)}, swiglu; got {kind!r}")
    return f"{calls[kind]}  hidden = {'Mul(active, result_3)' if has_third else 'Identity(active)'}"


def swiglu_text(inference: Inference, *, has_third: bool) -> str:
    """The nodes of `hidden`: gate * sigmoid(alpha * gate) * (line + beta).

    Gates and lines are the results of the first and the third layer, or, without a third layer, the halves (swiglu_fusion 2)
    or every other column of the first layer's results.
    """
    dtype, fusion = element_type(inference), inference.integer("swiglu_fusion")
    if has_third:
        halves = "gates_in = Identity(result_1)  lines = Identity(result_3)"
    elif fusion == 2:
        halves = "gates_in, lines = Split <axis = -1, num_outputs = 2> (result_1)"
    else:
        halves = f"""
      even = {vector([0])}
      odd = {vector([1])}
      end = {vector([SLICE_END])}
      inner = {vector([2])}
      every_other = {vector([2])}
      gates_in = Slice(result_1, even, end, inner, every_other)
      lines = Slice(result_1, odd, end, inner, every_other)"""
    limit = number_attribute(inference, "swiglu_limit", 0.0)
    clamped = "limited_gates = Identity(gates_in)  limited_lines = Identity(lines)"
    if limit:
        clamped = f"""
      most = {scalar(limit, dtype)}
      least = {scalar(-limit, dtype)}
      limited_gates = Min(gates_in, most)
      limited_lines = Clip(lines, least, most)"""
    return f"""{halves} {clamped}
      alpha = {scalar(inference.number("activation_alpha"), dtype)}
      beta = {scalar(inference.number("activation_beta"), dtype)}
      scaled_gates = Mul(alpha, limited_gates)
      sigmoid = Sigmoid(scaled_gates)
      swished = Mul(limited_gates, sigmoid)
      raised = Add(limited_lines, beta)
      hidden = Mul(swished, raised)"""
