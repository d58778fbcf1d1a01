"""Building blocks for the text of bodies with per-tensor quantization: DequantizeLinear before, QuantizeLinear after."""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.support.body_text import element_type, rank_of, scalar, vector


def names_of(inputs: str) -> list[str]:
    """The names of the inputs of a body, given as one string with spaces between them."""
    return inputs.split()


def scalar_text(inference: Inference, i: int, name: str) -> tuple[str, str]:
    """The nodes that reshape an input of one element to a scalar, and the name of the scalar."""
    if rank_of(inference, i) == 0:
        return "", name
    return f"{name}_shape = {vector([])}  {name}_scalar = Reshape({name}, {name}_shape)", f"{name}_scalar"


def dequantize_text(inference: Inference, names: list[str], i: int, result: str) -> str:
    """The nodes of `result`: input i dequantized; its scale and its optional zero point are the next two inputs."""
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
    """The nodes of `result`: a value quantized by the scale in input `scale_index` and the zero point in the next input.

    dtype: the element type of the result if the zero point is omitted; by default that of input 0.
    """
    scale_nodes, scale = scalar_text(inference, scale_index, names[scale_index])
    if inference.has(scale_index + 1):
        zero_nodes, zero = scalar_text(inference, scale_index + 1, names[scale_index + 1])
    else:
        zero = f"{result}_default"
        zero_nodes = f"{zero} = {scalar(0, dtype or element_type(inference))}"
    return f"{scale_nodes} {zero_nodes} {result} = QuantizeLinear({value}, {scale}, {zero})"
