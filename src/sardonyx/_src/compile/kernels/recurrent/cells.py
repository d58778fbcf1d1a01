"""The equations of LSTM, GRU and RNN cells, as in ONNX.

A cell is a function that emits the next h of some hidden units of one sequence, one unit in each lane.  Gates are in
ONNX's order (LSTM: i, o, f, c; GRU: z, r, h); each has a part of the input and a recurrent part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sardonyx._src.compile.codegen import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.loops.memory import load_vector_at, store_at
from sardonyx._src.compile.kernels.recurrent.activations import emit_activation
from sardonyx._src.compile.kernels.recurrent.fractions import Fraction
from sardonyx._src.compile.kernels.recurrent.variant import CellKind, RecurrenceVariant
from sardonyx._src.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class CellVector:
    """A vector of hidden units from `index` on, in one time step of one sequence.

    inputs: the address of the parts of the input, a gate `hidden` elements from the one before.  recurrent: that of the recurrent
    parts of these units, a gate `gate_stride` elements from the one before.  h, c: of the states, padded.  hidden_bias: [hidden], of a "gru"; peepholes: [3 * hidden], of an "lstm" that has them.
    mask: of the units that exist, which accesses of padded memory need not heed.
    """

    b: KernelBuilder
    variant: RecurrenceVariant
    vector_type: LLVMType
    inputs: str
    recurrent: str
    hidden: LLVMValue
    gate_stride: LLVMValue
    h: str
    c: str
    hidden_bias: str
    peepholes: str
    index: LLVMValue
    mask: LLVMValue | None

    def load(self, base: str, block: int = 0) -> LLVMValue:
        """Loads the elements of these units from block number `block` of an array [blocks, hidden]."""
        index = self.hidden * block + self.index
        return load_vector_at(self.b, base, index, self.vector_type, self.mask)

    def load_padded(self, base: str) -> LLVMValue:
        return load_vector_at(self.b, base, self.index, self.vector_type)

    def store_padded(self, value: LLVMValue, base: str) -> None:
        store_at(self.b, base, self.index, value)

    def parts(self, gate: int) -> tuple[LLVMValue, LLVMValue]:
        """The part of the input and the recurrent part of a gate."""
        recurrent = load_vector_at(self.b, self.recurrent, self.gate_stride * gate, self.vector_type)
        return self.load(self.inputs, gate), recurrent

    def gate(self, gate: int) -> LLVMValue:
        """Both parts of a gate."""
        inputs, recurrent = self.parts(gate)
        return inputs + recurrent

    def activate(self, number: int, x: LLVMValue) -> Fraction:
        """Activation number 0, 1 or 2 (f, g, h) of x."""
        return emit_activation(self.b, x, self.variant.activations[number], self.variant.clip)


def emit_lstm(units: CellVector) -> LLVMValue:
    """Peepholes are in the order i, o, f; that of o sees the new cell state."""
    variant, old_c = units.variant, units.load_padded(units.c)

    def gate(number: int, c: LLVMValue) -> Fraction:
        x = units.gate(number)
        return units.activate(0, x + units.load(units.peepholes, number) * c if variant.has_peepholes else x)

    i, candidate = gate(0, old_c), units.activate(1, units.gate(3))
    f = 1 - i.value() if variant.is_coupled else gate(2, old_c).value()
    new_c = units.b.fma(f, old_c, (i * candidate).value())
    units.store_padded(new_c, units.c)
    return (gate(1, new_c) * units.activate(2, new_c)).value()


def emit_gru(units: CellVector) -> LLVMValue:
    z, r = (units.activate(0, units.gate(i)) for i in range(2))
    inputs, recurrent = units.parts(2)
    biased = recurrent + units.load(units.hidden_bias)
    return mix_states(units, z, units.activate(1, units.b.fma(r.value(), biased, inputs)))


def emit_reset_gru(units: CellVector) -> LLVMValue:
    return mix_states(units, units.activate(0, units.gate(0)), units.activate(1, units.gate(2)))


def mix_states(units: CellVector, update: Fraction, candidate: Fraction) -> LLVMValue:
    """The next state of a GRU."""
    z = update.value()
    return units.b.fma(z, units.load_padded(units.h), (1 - z) * candidate.value())


def emit_reset(units: CellVector) -> LLVMValue:
    """The reset state of a "reset_gru": r * h."""
    return (units.activate(0, units.gate(1)) * Fraction(units.load_padded(units.h))).value()


def emit_rnn(units: CellVector) -> LLVMValue:
    return units.activate(0, units.gate(0)).value()


CELLS: Mapping[CellKind, Callable[[CellVector], LLVMValue]] = {
    "lstm": emit_lstm,
    "gru": emit_gru,
    "reset_gru": emit_reset_gru,
    "rnn": emit_rnn,
}
