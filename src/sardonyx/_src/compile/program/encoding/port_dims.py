"""Port dims: what native code must know of inputs and outputs to run a program for sizes that no run had before.

A port is a tensor of the caller.  The size function of a program computes its port dims after the bytes of scratch: the bytes
of all outputs, and their dims.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.program import Step, TensorView
from sardonyx._src.compile.program.steps.program import Program
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import Known
from sardonyx._src.ir.dims.atoms import Symbol, lone_atom


@dataclass(frozen=True, slots=True)
class PortDims:
    """The ports of a program that consists of kernel steps.

    inputs: the inputs in the model's order; each of their dims is a number or a symbol.
    counts: for each input the symbol of which it is the count, or "".
    outputs: the outputs in order.
    """

    inputs: Sequence[TensorView]
    counts: Sequence[str]
    outputs: Sequence[TensorView]

    @property
    def output_dims(self) -> list[Known]:
        """The dims of all outputs, one after the other."""
        return [dim for tensor in self.outputs for dim in tensor.shape]

    @property
    def count(self) -> int:
        """The number of values that the size function computes: bytes and dims of the outputs."""
        return 1 + len(self.output_dims)


def port_dims(program: Program) -> PortDims | None:
    """The ports of a program; None unless it consists of kernel steps, and the dims and counts of inputs are its symbols."""
    values = program.model.graph.inputs
    outputs = [tensor for tensor in program.outputs.values() if tensor is not None]
    if (
        program.is_static
        or len(outputs) < len(program.outputs)
        or len(program.inputs) < len(values)
        or any(not isinstance(action, Step) for action in program.actions)
        or any(tensor.buffer.role != "output" for tensor in outputs)
    ):
        return None
    inputs = [program.inputs[value] for value in values]
    dims = [dim for tensor in inputs for dim in tensor.shape if not isinstance(dim, int)]
    counts = [program.counts.get(value.name, "") for value in values]
    known = {*map(symbol_of, dims), *filter(None, counts)}
    return PortDims(inputs, counts, outputs) if known == {*program.sizes} else None


def symbol_of(dim: Known) -> str | None:
    """The name of the symbol that a dim consists of; None for another dim."""
    atom = lone_atom(dim)
    return atom.name if isinstance(atom, Symbol) else None
