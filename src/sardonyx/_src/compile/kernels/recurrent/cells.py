"""The equations of LSTM, GRU and RNN cells, as in ONNX with its default activations.

A cell is a function that emits the next h of some hidden units of one sequence, one unit in each lane.  Gates are in
ONNX's order (LSTM: i, o, f, c; GRU: z, r, h); of each, it receives the part of the input and the recurrent part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sardonyx._src.compile.codegen.builder import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.reductions.rows import load_vector, store_vector

# The reset gate of a "gru" scales the recurrent product (ONNX: linear_before_reset), that of a "reset_gru" the state.
CellKind = Literal["lstm", "gru", "reset_gru", "rnn"]
GATE_COUNTS: dict[CellKind, int] = {"lstm": 4, "gru": 3, "reset_gru": 3, "rnn": 1}
Gates: TypeAlias = Sequence[tuple[LLVMValue, LLVMValue]]


@dataclass(frozen=True, slots=True)
class CellVector:
    """A vector of hidden units from `index` on; h, c: the addresses of the state of the sequence."""

    b: KernelBuilder
    vector_type: LLVMType
    h: str
    c: str
    index: LLVMValue
    mask: LLVMValue | None

    def load(self, base: str) -> LLVMValue:
        """Loads the elements of these units from an array [hidden]."""
        return load_vector(self.b, self.vector_type, base, self.index, self.mask)

    def store(self, value: LLVMValue, base: str) -> None:
        store_vector(self.b, value, base, self.index, self.mask)


def emit_lstm(units: CellVector, gates: Gates, hidden_bias: str) -> LLVMValue:
    b = units.b
    i, o, f, c = (x + y for x, y in gates)
    old_c = units.load(units.c)
    remembered = b.emit_operation("sigmoid", f) * old_c
    new_c = b.fma(b.emit_operation("sigmoid", i), b.emit_operation("tanh", c), remembered)
    units.store(new_c, units.c)
    return b.emit_operation("sigmoid", o) * b.emit_operation("tanh", new_c)


def emit_gru(units: CellVector, gates: Gates, hidden_bias: str) -> LLVMValue:
    b = units.b
    z, r = (b.emit_operation("sigmoid", x + y) for x, y in gates[:2])
    x_part, h_part = gates[2]
    biased = h_part + units.load(hidden_bias)
    h = b.emit_operation("tanh", b.fma(r, biased, x_part))
    return (1 - z) * h + z * units.load(units.h)


def emit_reset_gru(units: CellVector, gates: Gates, hidden_bias: str) -> LLVMValue:
    b = units.b
    z, _, h = (x + y for x, y in gates)
    z = b.emit_operation("sigmoid", z)
    return (1 - z) * b.emit_operation("tanh", h) + z * units.load(units.h)


def emit_rnn(units: CellVector, gates: Gates, hidden_bias: str) -> LLVMValue:
    ((x_part, h_part),) = gates
    return units.b.emit_operation("tanh", x_part + h_part)


CELLS: Mapping[CellKind, Callable[[CellVector, Gates, str], LLVMValue]] = {
    "lstm": emit_lstm,
    "gru": emit_gru,
    "reset_gru": emit_reset_gru,
    "rnn": emit_rnn,
}
