"""Specialization of recurrence kernels: the cell with its activations, the element type, and the operands it has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from sardonyx._src.compile.codegen import Element, Parameters
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ops.nn.recurrent_activations import UNSCALED_ACTIVATIONS, Activation

# The reset gate of a "gru" scales the recurrent product (ONNX: linear_before_reset), that of a "reset_gru" the state.
CellKind = Literal["lstm", "gru", "reset_gru", "rnn"]
# The gates of the recurrent products of a time step, one after another; the second of a "reset_gru" needs the first.
PHASES: Mapping[CellKind, tuple[int, ...]] = {"lstm": (4,), "gru": (3,), "reset_gru": (2, 1), "rnn": (1,)}
GATE_COUNTS: dict[CellKind, int] = {cell: sum(phases) for cell, phases in PHASES.items()}


@dataclass(frozen=True, slots=True)
class RecurrenceVariant:
    """What a kernel is specialized on.

    activations: of the cell, in ONNX's order (f, g, h).  clip: the bound of their inputs; None for no bound.  is_coupled:
    whether the forget gate of an "lstm" is 1 minus its input gate.  has_peepholes: of an "lstm".  has_lengths: whether
    sequences have lengths of their own.  projects_inputs: whether the kernel computes the part of the inputs, of any cell but a
    "gru".
    """

    cell: CellKind
    activations: tuple[Activation, ...]
    element: Element = "float"
    clip: float | None = None
    is_coupled: bool = False
    has_peepholes: bool = False
    has_lengths: bool = False
    projects_inputs: bool = False

    @property
    def phases(self) -> tuple[int, ...]:
        return PHASES[self.cell]

    @property
    def gates(self) -> int:
        return GATE_COUNTS[self.cell]

    @property
    def states(self) -> tuple[str, ...]:
        """The states that the cell keeps from one time step to the next."""
        return ("h", "c") if self.cell == "lstm" else ("h",)

    @property
    def key(self) -> str:
        words = [self.cell, *map(activation_key, self.activations)]
        words += [] if self.element == "float" else [self.element]
        words += [] if self.clip is None else [f"clip({self.clip!r})"]
        flags = {"coupled": self.is_coupled, "peepholes": self.has_peepholes, "lengths": self.has_lengths}
        flags |= {"projected": self.projects_inputs}
        return "_".join(("recurrence", *words, *(word for word, is_set in flags.items() if is_set)))

    @property
    def operand_strides(self) -> Mapping[str, tuple[str, ...]]:
        """The tensors by parameter, each with the axes along which it has a stride; the last axis is contiguous."""
        sequence, state = ("direction", "time", "batch"), ("direction", "batch")
        names: dict[str, tuple[str, ...]] = {"input_gates": sequence}
        if self.projects_inputs:
            names = {"x": sequence, "input_weights": ("direction",), "bias": ("direction",)}
        names |= {"weights": ("direction",), "y": sequence}
        names |= {"hidden_bias": ("direction",)} if self.cell == "gru" else {}
        names |= {"peepholes": ("direction",)} if self.has_peepholes else {}
        names |= {"lengths": (), "status": ()} if self.has_lengths else {}
        return names | {name: state for each in self.states for name in (each, f"last_{each}")}

    @property
    def parameters(self) -> Parameters:
        """is_backward: 1 if the first direction is backward; a second one always is."""
        operands = self.operand_strides
        strides = (f"{name}_{axis}_stride" for name, axes in operands.items() for axis in axes)
        sizes = ("length", "batch", "hidden", "unit_sequences", "is_backward")
        return Parameters(*operands, *sizes, *(("input_size",) if self.projects_inputs else ()), *strides)


def activation_key(activation: Activation) -> str:
    name, alpha, beta = activation.name, activation.alpha, activation.beta
    return name if name in UNSCALED_ACTIVATIONS else f"{name}({alpha!r},{beta!r})"
