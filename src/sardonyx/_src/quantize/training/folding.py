"""The quantized model of a trained one: pairs of constants become the integers that they round to."""

from __future__ import annotations

import numpy as np

from sardonyx._src.io.loading.load import ModelSource, resolve_model
from sardonyx._src.ir import Array, Model, Node, Tensor
from sardonyx._src.quantize.activations.constants import dequantize_constant, drop_unused
from sardonyx._src.quantize.activations.layers import BIAS, OPERAND, WEIGHT, layer_kind
from sardonyx._src.quantize.activations.parameters import BIAS_LIMIT
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.runtime.session.session import Session
from sardonyx._src.tools.extract import extract
from sardonyx._src.train.prepare.inference_only import without_training


def fold_fake_quantization(model: ModelSource) -> Model:
    """A copy of a trained model in which weights are integers, as `sx.quantize` writes it; its training steps are left out.

    The integers are the results of the QuantizeLinear nodes, so that the model computes what it computed in training.  Biases
    of layers in integers become int32, whose scale is the product of the scales of operand and weight: each changes by at
    most half of that.  A model without fake quantization stays as it is.  Raises what sessions raise.
    """
    result = without_training(resolve_model(model))
    edit = Edit(result)
    pairs = [node for node in result.graph.nodes if rounds_constant(edit, node)]
    for node, integers in zip(pairs, integers_of(result, pairs), strict=True):
        floats, output = node.inputs[0], node.outputs[0]
        edit.replace_with_constants(node, {output: Tensor.of(integers)})
        if floats is not None:
            drop_unused(edit, floats)
    if pairs:
        for node in list(result.graph.nodes):
            fold_bias(edit, node)
    return result


def rounds_constant(edit: Edit, node: Node) -> bool:
    return is_standard(node, "QuantizeLinear") and all(
        value is None or edit.tensor(value) is not None for value in node.inputs
    )


def is_standard(node: Node, op_type: str) -> bool:
    return node.op_type == op_type and not node.domain


def integers_of(model: Model, pairs: list[Node]) -> list[Array]:
    """The results of nodes that read constants, by the reference engine."""
    if not pairs:
        return []
    names = [node.outputs[0].name for node in pairs]
    session = Session(extract(model, inputs=[], outputs=names), engine="reference", shapes="off")
    results = session.run({})
    return [np.asarray(results[name]) for name in names]


def fold_bias(edit: Edit, node: Node) -> None:
    """The bias of a layer whose operand and weight are dequantized from 8 bits becomes int32, unless it does not fit."""
    if layer_kind(edit, node) is None or len(node.inputs) <= BIAS:
        return
    scales = [scale_of(edit, node, slot) for slot in (OPERAND, WEIGHT)]
    bias = edit.tensor(node.inputs[BIAS])
    value = node.inputs[BIAS]
    if scales[0] is None or scales[1] is None or bias is None or value is None or scales[0].size != 1:
        return
    products = np.asarray(scales[1] * scales[0].reshape(()), np.float32)
    if bias.shape != products.shape or bias.dtype.numpy != np.float32:
        return
    integers = np.rint(bias.numpy() / products.astype(np.float64))
    if np.abs(integers).max(initial=0) <= BIAS_LIMIT:
        dequantize_constant(edit, node, BIAS, (integers.astype(np.int32), products), 0, value)
        drop_unused(edit, value)


def scale_of(edit: Edit, node: Node, slot: int) -> Array | None:
    """The scale of the DequantizeLinear of 8 bits that an input reads; None for another input."""
    value = node.inputs[slot]
    pair = None if value is None else value.producer
    if pair is None or not is_standard(pair, "DequantizeLinear") or "block_size" in pair.attributes:
        return None
    integers = edit.type(pair.inputs[0])
    is_byte = integers is not None and integers.dtype.numpy in (np.int8, np.uint8)
    return edit.constant(pair.inputs[1]) if is_byte else None
