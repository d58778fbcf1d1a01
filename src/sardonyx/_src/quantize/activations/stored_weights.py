"""Weights that are stored in 8 bits and read as floats: of layers whose operands stay floats, of recurrences, and of tables.

Each output channel of a layer, each row of a table, and each gate's row of a recurrence has a scale; the directions of a
recurrence share those of their rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Node
from sardonyx._src.quantize.activations.constants import dequantize_constant, drop_unused
from sardonyx._src.quantize.activations.layers import WEIGHT, ProductLayer
from sardonyx._src.quantize.activations.parameters import weight_integers
from sardonyx._src.quantize.report.quality import ErrorSums
from sardonyx._src.quantize.report.report import LayerReport
from sardonyx._src.quantize.schemes.scheme import LayerPatterns, require_finite
from sardonyx._src.quantize.weights.layers import has_rank, kind_of
from sardonyx._src.rewrite.engine.edit import Edit

SCALE_AXES = {"recurrence": 1, "table": 0}  # by kind: the axis whose indices have a scale each
STORED = "its weight alone is in 8 bits"


def store_weight(edit: Edit, layer: ProductLayer) -> None:
    """A layer reads its weight from a DequantizeLinear, and computes in floats."""
    tensors = weight_integers(layer.tensor.numpy(), layer.axis)
    dequantize_constant(edit, layer.node, WEIGHT, tensors, layer.axis, layer.weight)
    drop_unused(edit, layer.weight)


def store_other_weights(edit: Edit, patterns: LayerPatterns) -> list[LayerReport]:
    """The weights of recurrences and tables of the main graph become integers; the error of each is that of its elements."""
    return [
        store_input(edit, node, slot, axis)
        for node, slot, axis in list(find_inputs(edit))
        if not patterns.why_not([node.name, *([value.name] if (value := node.inputs[slot]) else [])])
    ]


def find_inputs(edit: Edit) -> Iterator[tuple[Node, int, int]]:
    """Nodes, the slots of constant float32 weights that nothing else reads, and the axes of their scales."""
    for node in edit.model.graph.nodes:
        for slot, value in enumerate(node.inputs):
            kind = kind_of(edit, node, slot)
            tensor = edit.tensor(value)
            if kind not in SCALE_AXES or value is None or tensor is None or value in edit.mutable:
                continue
            is_float = tensor.dtype is DataType.FLOAT and bool(tensor.size)
            if is_float and has_rank(kind, tensor) and edit.has_one_use(value):
                yield node, slot, SCALE_AXES[kind]


def store_input(edit: Edit, node: Node, slot: int, axis: int) -> LayerReport:
    value = node.inputs[slot]
    tensor = edit.tensor(value)
    assert value is not None and tensor is not None, "the input is a constant"
    weight = tensor.numpy()
    require_finite("model", f"the weight {value.name!r}", weight)
    tensors = weight_integers(weight, axis)
    dequantize_constant(edit, node, slot, tensors, axis, value)
    drop_unused(edit, value)
    return LayerReport(value.name, tensor.shape, rounding_ratio(weight, tensors, axis), note=STORED)


def rounding_ratio(weight: Array, tensors: tuple[Array, Array], axis: int) -> float:
    """The signal-to-noise ratio of the elements of a weight, in decibels."""
    integers, scales = tensors
    sums = ErrorSums()
    sums.add(weight, np.moveaxis(np.moveaxis(integers, axis, -1) * scales, -1, axis))
    return sums.error("weight").signal_to_noise
