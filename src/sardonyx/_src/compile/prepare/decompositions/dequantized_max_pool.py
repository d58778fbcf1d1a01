"""MaxPool of dequantized bytes: the bytes are pooled, and the maxima dequantized.

The results are equal, since DequantizeLinear with one positive scale keeps the order of numbers.  A QuantizeLinear
that follows then cancels the DequantizeLinear.
"""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node, Value
from sardonyx._src.rewrite.engine.edit import Edit

BYTES = (DataType.INT8, DataType.UINT8)


def decompose(node: Node, edit: Edit) -> bool:
    value = node.inputs[0] if node.inputs else None
    source = None if value is None else value.producer
    if source is None or source.op_type != "DequantizeLinear" or source.domain or source.inputs[0] is None:
        return False
    if edit.operator_of(source) is None or edit.operator_of(node) is None:
        return False
    type_, scale = edit.type(source.inputs[0]), edit.scalar(source.inputs[1])
    if type_ is None or type_.dtype not in BYTES or scale is None or not scale > 0:
        return False
    if len(source.inputs) > 2 and edit.scalar(source.inputs[2]) is None:
        return False
    if is_used(node.outputs[1:]) or not every_window_has_an_element(node, edit):
        return False
    attributes = {name: attribute.value for name, attribute in node.attributes.items()}
    maxima = edit.make("MaxPool", source.inputs[:1], attributes, before=node).outputs[0]
    parameters = {name: attribute.value for name, attribute in source.attributes.items()}
    return edit.replace(node, "DequantizeLinear", [maxima, *source.inputs[1:]], parameters)


def is_used(outputs: tuple[Value, ...]) -> bool:
    return any(value.uses or value.is_graph_output for value in outputs)


def every_window_has_an_element(node: Node, edit: Edit) -> bool:
    """Whether no window can lie in the padding only: its maximum would be minus infinity, not the lowest byte."""
    attributes = edit.attributes(node)
    kernel, pads, dilations = (attributes.get(name) for name in ("kernel_shape", "pads", "dilations"))
    if not isinstance(kernel, tuple | list) or any(d != 1 for d in as_numbers(dilations)):
        return False
    numbers = as_numbers(pads)
    return all(pad < kernel[i % len(kernel)] for i, pad in enumerate(numbers))


def as_numbers(value: object) -> list[int]:
    return [int(number) for number in value] if isinstance(value, tuple | list) else []
