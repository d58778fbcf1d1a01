"""The operator form: a layer between DequantizeLinear and QuantizeLinear becomes QLinearConv or QLinearMatMul."""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Model, Node, Value
from sardonyx._src.quantize.activations.layers import BIAS, OPERAND, WEIGHT
from sardonyx._src.rewrite.engine.edit import Edit

RECTIFIER, LIMITER = "Relu", "Clip"


def to_operator_form(model: Model) -> Model:
    """A copy in which layers with quantized operands and results are single operators; others stay as they are.

    A Gemm with a bias stays, since QLinearMatMul has none.
    """
    edit = Edit(model.copy())
    for node in list(edit.model.graph.nodes):
        operator = edit.operator_of(node)
        if operator is None or len(node.outputs) != 1:
            continue
        is_convolution = operator.op.linear_layer == "conv"
        is_product = operator.op.matrix_product == "matmul"
        last = quantization_of(edit, node.outputs[0]) if is_convolution or is_product else None
        if last is not None:
            fuse_layer(edit, node, last, is_convolution=is_convolution)
    return edit.model


def fuse_layer(edit: Edit, node: Node, last: Node, *, is_convolution: bool) -> bool:
    """Replaces a QuantizeLinear, and with it the layer whose results it quantizes."""
    sources = [edit_producer(node, slot) for slot in (OPERAND, WEIGHT)]
    bias = edit_producer(node, BIAS) if len(node.inputs) > BIAS else None
    if any(source is None for source in sources) or (len(node.inputs) > BIAS and bias is None):
        return False
    inputs: list[Value | None] = [
        value for source in sources if source is not None for value in source.inputs
    ]
    inputs += last.inputs[1:]
    if not is_convolution:
        return len(inputs) == 8 and edit.replace(last, "QLinearMatMul", inputs)
    if bias is not None:
        inputs.append(bias.inputs[0])
    attributes = {name: attribute.value for name, attribute in node.attributes.items()}
    return edit.replace(last, "QLinearConv", inputs, attributes)


def edit_producer(node: Node, slot: int) -> Node | None:
    """The DequantizeLinear, with a zero point, that an input reads."""
    value = node.inputs[slot]
    source = None if value is None else value.producer
    return (
        source
        if source is not None and source.op_type == "DequantizeLinear" and len(source.inputs) == 3
        else None
    )


def quantization_of(edit: Edit, value: Value) -> Node | None:
    """The QuantizeLinear that alone reads a value, or its results of a Relu or Clip that saturates as the integers do."""
    if not edit.has_one_use(value):
        return None
    reader = value.uses[0][0]
    if reader.op_type == "QuantizeLinear":
        return reader if len(reader.inputs) == 3 else None
    if reader.op_type not in (RECTIFIER, LIMITER) or not edit.has_one_use(reader.outputs[0]):
        return None
    last = reader.outputs[0].uses[0][0]
    is_last = last.op_type == "QuantizeLinear" and len(last.inputs) == 3
    return last if is_last and saturates(edit, reader, last) else None


def saturates(edit: Edit, limiter: Node, last: Node) -> bool:
    """Whether the numbers at which a node clips become the ends of the integers, so that these clip alike."""
    zero_point = edit.constant(last.inputs[2])
    scale = edit.scalar(last.inputs[1])
    if zero_point is None or scale is None:
        return False
    limits = np.iinfo(zero_point.dtype)
    low: float | None = 0.0
    high: float | None = None
    if limiter.op_type == LIMITER:
        bounds = list(limiter.inputs[1:3])
        low, high = ([edit.scalar(value) for value in bounds] + [None, None])[:2]
        if any(value is not None and edit.scalar(value) is None for value in bounds):
            return False
    point = int(zero_point.item())
    is_low = low is None or round(low / scale) + point <= limits.min
    return is_low and (high is None or round(high / scale) + point >= limits.max)
