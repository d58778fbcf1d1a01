"""Formatting of dims, tensors and amounts, with lengths substituted for dimension variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from sardonyx._src.compile.program import Guard, KernelArgument, TensorView
from sardonyx._src.compile.program.steps.cached_count import CachedCount
from sardonyx._src.compile.program.steps.step import ArgumentSlot, RecordSlot, TensorAddress
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import Expr, Known
from sardonyx._src.ir.types import shape_text


@dataclass(frozen=True, slots=True)
class ProgramFormatter:
    """Formats dims and tensors, with `lengths` substituted for dimension variables."""

    lengths: Mapping[str, int] = field(default_factory=dict)

    def substitute(self, dim: Known) -> Known:
        """The dim after substitution."""
        value = dim.substitute(self.lengths) if isinstance(dim, Expr) else dim
        return dim if value is None else value

    def format_shape(self, shape: Sequence[Known]) -> str:
        return shape_text(tuple(self.substitute(dim) for dim in shape))

    def format_tensor(self, tensor: TensorView) -> str:
        name = tensor.buffer.name if tensor.buffer.role != "constant" else ""
        return f"{name or tensor.buffer.role}{self.format_shape(tensor.shape)}"

    def format_layout(self, tensor: TensorView, name: str, note: str = "") -> str:
        """A tensor with its strides, if it is not dense, and its offset; and its buffer, if that has another name.

        note: text after the dims.
        """
        parts = [f"{name}{self.format_shape(tensor.shape)}{note}"]
        if not tensor.is_dense:
            parts.append(f"strides {self.format_shape(tensor.strides)}")
        if tensor.offset != 0:
            parts.append(f"offset {self.substitute(tensor.offset)}")
        if tensor.buffer.name != name:
            parts.append(f"in {tensor.buffer.name or tensor.buffer.role}")
        return " ".join(parts)

    def format_argument(self, argument: KernelArgument) -> str:
        if isinstance(argument, TensorView):
            return self.format_tensor(argument)
        if isinstance(argument, ArgumentSlot):
            return f"argument {argument.index} of the step {argument.distance} later"
        if isinstance(argument, RecordSlot):
            return f"slot {argument.slot} of the record of the step {argument.distance} later"
        if isinstance(argument, TensorAddress):
            return f"address of {self.format_tensor(argument.tensor)}"
        if isinstance(argument, CachedCount):
            return f"{argument.otherwise} to {argument.most}, by the caches"
        return str(self.substitute(argument))

    def format_guard(self, guard: Guard) -> str:
        return str(Guard(self.substitute(guard.left), self.substitute(guard.right)))

    def format_amount(self, number: Known, unit: str) -> str:
        """A number with a unit prefix; an expression in full."""
        value = self.substitute(number)
        return f"{value} {unit}" if not isinstance(value, int) else format_quantity(value, unit)


def format_quantity(number: float, unit: str) -> str:
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= factor:
            return f"{number / factor:.1f} {prefix}{unit}"
    return f"{number:.0f} {unit}"
