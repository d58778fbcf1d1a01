"""Data movement of dequantized bytes: the bytes are moved, and the results dequantized.

The results are equal, since all operands have one scale and one zero point.  A QuantizeLinear that follows then cancels the
DequantizeLinear, and a quarter of the memory is read and written.
"""

from __future__ import annotations

from sardonyx._src.compile.prepare.decompositions.dequantized_max_pool import BYTES
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node
from sardonyx._src.rewrite.engine.edit import Edit


def decompose(node: Node, edit: Edit) -> bool:
    operator = edit.operator_of(node)
    if operator is None or not operator.op.is_data_movement(node) or len(node.outputs) != 1:
        return False
    slots = [slot for slot, value in enumerate(node.inputs) if is_float32(edit, slot, node)]
    sources = [source for slot in slots if (source := dequantization(edit, node, slot)) is not None]
    if (
        not slots
        or len(sources) < len(slots)
        or any(not is_alike(edit, sources[0], other) for other in sources)
    ):
        return False
    inputs = list(node.inputs)
    for slot, source in zip(slots, sources, strict=True):
        inputs[slot] = source.inputs[0]
    attributes = {name: attribute.value for name, attribute in node.attributes.items()}
    moved = edit.make(node.op_type, inputs, attributes, before=node).outputs[0]
    parameters = {name: attribute.value for name, attribute in sources[0].attributes.items()}
    return edit.replace(node, "DequantizeLinear", [moved, *sources[0].inputs[1:]], parameters)


def is_float32(edit: Edit, slot: int, node: Node) -> bool:
    value_type = edit.type(node.inputs[slot])
    return value_type is not None and value_type.dtype is DataType.FLOAT


def dequantization(edit: Edit, node: Node, slot: int) -> Node | None:
    """The DequantizeLinear of bytes, with one scale and one zero point, that an input reads; None for any other."""
    value = node.inputs[slot]
    source = None if value is None else value.producer
    if (
        source is None
        or source.op_type != "DequantizeLinear"
        or source.domain
        or edit.operator_of(source) is None
    ):
        return None
    integers, scale = edit.type(source.inputs[0]), edit.scalar(source.inputs[1])
    if (
        integers is None
        or integers.dtype not in BYTES
        or scale is None
        or edit.tensor(source.inputs[0]) is not None
    ):
        return None
    return None if len(source.inputs) > 2 and edit.scalar(source.inputs[2]) is None else source


def is_alike(edit: Edit, first: Node, other: Node) -> bool:
    """Whether two nodes turn equal bytes into equal numbers."""
    types = edit.type(first.inputs[0]), edit.type(other.inputs[0])
    if types[0] is None or types[1] is None or types[0].dtype is not types[1].dtype:
        return False
    numbers = [[edit.scalar(value) for value in (*node.inputs[1:], None)[:2]] for node in (first, other)]
    return numbers[0] == numbers[1]
