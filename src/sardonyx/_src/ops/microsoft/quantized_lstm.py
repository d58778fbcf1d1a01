"""DynamicQuantizeLSTM of com.microsoft: an LSTM with 8-bit weights, whose inputs and states are quantized for each product.

Spec: com.microsoft DynamicQuantizeLSTM-1, as onnxruntime computes it: with one scale for all inputs of a direction, up to
the longest length, and one scale for the states of each step.
"""

from __future__ import annotations

from functools import partial

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.microsoft.text import DOMAIN
from sardonyx._src.ops.nn.lstm import cell_text
from sardonyx._src.ops.nn.recurrence_body import WeightsText, recurrent_body
from sardonyx._src.ops.support.body_text import rank_of, vector

op = Operator(
    "DynamicQuantizeLSTM",
    DOMAIN,
    tolerance="rounding",
    about="LSTM with 8-bit weights and quantized products",
)
QUANTIZATION_INPUTS = ("w_scale", "w_zero", "r_scale", "r_zero")
LENGTHS, FIRST_SCALE = 4, 8  # positions of inputs: sequence_lens, and the first of QUANTIZATION_INPUTS


@dataclass(frozen=True, slots=True)
class QuantizedWeights(WeightsText):
    """Products by weights of 8 bits.

    W and R are [directions, rows, columns]; scales and zero points are [directions] or [directions, columns].
    has_lengths: whether the sequences have lengths, which the text names `lengths`.
    """

    has_lengths: bool = False

    def operands(self, d: int) -> str:
        return weights_text("w", d) + weights_text("r", d)

    def input_product(self, d: int, x: str, result: str) -> str:
        used = f"used{d} = Identity({x})"
        if self.has_lengths:
            used = f"""
      used_axis{d} = {vector([0])} longest{d} = ReduceMax(lengths)
      used{d} = Slice({x}, used_axis{d}, longest{d}, used_axis{d})"""
        return f"""{used}
      used_q{d}, x_scale{d}, x_zero{d} = DynamicQuantizeLinear(used{d})
      x_q{d} = QuantizeLinear({x}, x_scale{d}, x_zero{d})
      x_rounded{d} = DequantizeLinear(x_q{d}, x_scale{d}, x_zero{d})
      {result} = MatMul(x_rounded{d}, w_t{d})"""

    def state_product(self, d: int, state: str, result: str) -> str:
        used = f"h_used{d} = Identity({state})"
        if self.has_lengths:  # for the scale, the states of sequences that have ended count as zeros
            used = f"""
      is_used{d} = LessOrEqual(t_in{d}, lengths) used_axes{d} = {vector([1])}
      is_used_row{d} = Unsqueeze(is_used{d}, used_axes{d}) no_state{d} = Sub({state}, {state})
      h_used{d} = Where(is_used_row{d}, {state}, no_state{d})"""
        return f"""{used}
      h_q{d}, h_scale{d}, h_zero{d} = DynamicQuantizeLinear(h_used{d})
      h_rounded{d} = DequantizeLinear(h_q{d}, h_scale{d}, h_zero{d})
      {result} = MatMul(h_rounded{d}, r_t{d})"""


def weights_text(name: str, d: int) -> str:
    """The nodes of `{name}_t{d}`: the weights of a direction in float."""
    zero = f"{name}_zero_d{d}"
    return f"""
      {name}_d{d} = Gather <axis = 0> ({name}, direction{d})
      {name}_scale_d{d} = Gather <axis = 0> ({name}_scale, direction{d})
      {zero}_q = Gather <axis = 0> ({name}_zero, direction{d})
      {zero} = Cast <to = {int(DataType.FLOAT)}> ({zero}_q)
      {name}_centered{d} = Sub({name}_d{d}, {zero})
      {name}_t{d} = Mul({name}_centered{d}, {name}_scale_d{d})"""


@op.body(1, opset=18)
def body(inference: Inference) -> str:
    for i in range(FIRST_SCALE, FIRST_SCALE + len(QUANTIZATION_INPUTS)):
        if rank_of(inference, i) not in (1, 2):
            inference.fail(f"input {i} must have rank 1 or 2; got rank {rank_of(inference, i)}")
    weights = QuantizedWeights(1, QUANTIZATION_INPUTS, inference.has(LENGTHS))
    cell = partial(cell_text, clips_cell=False)
    return recurrent_body(inference, ("Sigmoid", "Tanh", "Tanh"), cell, "hc", weights)
