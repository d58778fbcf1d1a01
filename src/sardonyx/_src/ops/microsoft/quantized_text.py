"""Building blocks for the text of bodies with per-tensor quantisation: DequantizeLinear before, QuantizeLinear after."""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.support.body_text import element_type, rank_of, scalar, vector


def names_of(inputs: str) -> list[str]:
    """The formal inputs of a body, from their names separated by spaces."""
    return inputs.split()


def scalar_text(inference: Inference, i: int, name: str) -> tuple[str, str]:
    """The nodes that make a scalar of an input of one element, and the name of the result."""
    if rank_of(inference, i) == 0:
        return "", name
    return f"{name}_shape = {vector([])}  {name}_scalar = Reshape({name}, {name}_shape)", f"{name}_scalar"


def dequantize_text(inference: Inference, names: list[str], i: int, result: str) -> str:
    """The nodes that dequantize input i, of which the scale and the optional zero point are the following inputs."""
    scale_nodes, scale = scalar_text(inference, i + 1, names[i + 1])
    if not inference.has(i + 2):
        return f"{scale_nodes} {result} = DequantizeLinear({names[i]}, {scale})"
    zero_nodes, zero = scalar_text(inference, i + 2, names[i + 2])
    return f"{scale_nodes} {zero_nodes} {result} = DequantizeLinear({names[i]}, {scale}, {zero})"


def quantize_text(
    inference: Inference,
    names: list[str],
    scale_index: int,
    value: str,
    result: str,
    *,
    dtype: DataType | None = None,
) -> str:
    """The nodes that quantize a value by a scale and an optional zero point, which is the input after the scale."""
    scale_nodes, scale = scalar_text(inference, scale_index, names[scale_index])
    if inference.has(scale_index + 1):
        zero_nodes, zero = scalar_text(inference, scale_index + 1, names[scale_index + 1])
    else:
        zero = f"{result}_default"
        zero_nodes = f"{zero} = {scalar(0, dtype or element_type(inference))}"
    return f"{scale_nodes} {zero_nodes} {result} = QuantizeLinear({value}, {scale}, {zero})"
