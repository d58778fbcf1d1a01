"""Constants of layers as integers: an input that reads a DequantizeLinear of them."""

from __future__ import annotations

import re

import numpy as np

from sardonyx._src.ir import Array, Node, Tensor, Value
from sardonyx._src.rewrite.engine.edit import Edit

MAX_STEM = 24  # characters


def stem_of(value: Value) -> str:
    """What new values are named after: a name, or the end of one that is a long path.

    A new value has its name several times in a file, and paths were half the bytes of a small network in integers.
    """
    name = value.name
    return name if len(name) <= MAX_STEM else re.split("[/;]", name)[-1][-MAX_STEM:] or name[-MAX_STEM:]


def dequantize_constant(
    edit: Edit, node: Node, slot: int, tensors: tuple[Array, Array], axis: int, value: Value
) -> None:
    """An input of a node, `value`, becomes integers times scales along an axis."""
    (integers, scales), stem = tensors, stem_of(value)
    inputs: list[Value | None] = [
        edit.make_constant(Tensor.of(integers), f"{stem}_quantized", before=node),
        edit.make_constant(scales, f"{stem}_scale", before=node),
        edit.make_constant(np.zeros(scales.shape, integers.dtype), f"{stem}_zero_point", before=node),
    ]
    dequantized = edit.make(
        "DequantizeLinear",
        inputs,
        {"axis": axis},
        before=node,
        name=f"{stem}/dequantize",
        value_names=[f"{stem}_dequantized"],
    )
    replace_input(edit, node, slot, dequantized.outputs[0])


def drop_unused(edit: Edit, value: Value) -> None:
    if (
        value.producer is None
        and not value.uses
        and value.initializer is not None
        and edit.is_internal(value)
    ):
        edit.remove_initializer(value)


def replace_input(edit: Edit, node: Node, slot: int, value: Value) -> None:
    inputs = list(node.inputs)
    inputs[slot] = value
    edit.update(node, inputs=inputs)
