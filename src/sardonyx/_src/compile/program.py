"""What a model is compiled to: steps in order, and the memory that their tensors lie in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from sardonyx._src.compile.step import Step
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.ir.dims import Known
from sardonyx._src.ir.graph import Model, Node, Value


@dataclass(frozen=True, slots=True)
class HostCall:
    """A node that its reference kernel runs.

    takes: the tensors of those inputs, outer values of subgraphs included, that native steps made.  What it makes is
    kept beside the tensors, as values of the host.
    """

    node: Node
    takes: Mapping[Value, Tensor]

    @property
    def reads(self) -> tuple[Tensor, ...]:
        return tuple(self.takes.values())

    @property
    def writes(self) -> tuple[Tensor, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class Upload:
    """A value of the host put into a tensor; its shape and type are held to those that were inferred."""

    value: Value
    tensor: Tensor

    @property
    def reads(self) -> tuple[Tensor, ...]:
        return ()

    @property
    def writes(self) -> tuple[Tensor, ...]:
        return (self.tensor,)


@dataclass(frozen=True, slots=True)
class Collect:
    """Takes the slices that turns of a loop have left in buffers, [turns, ...], before others are written there.

    buffers: for each value that the slices make up.  turns: how many the loop has had, one int64.  is_last: whether the
    values are whole now.
    """

    buffers: Mapping[Value, Tensor]
    turns: Tensor
    is_last: bool

    @property
    def reads(self) -> tuple[Tensor, ...]:
        return *self.buffers.values(), self.turns

    @property
    def writes(self) -> tuple[Tensor, ...]:
        return ()


Action: TypeAlias = "Step | HostCall | Upload | Collect"


@dataclass(slots=True)
class Program:
    """Actions in order, over tensors in storages.

    sizes: for each symbol of the dims, the input and axis whose length it is.  inputs: the tensors of the inputs that
    native steps read.  outputs: the tensor of each output, or None for those that stay on the host.
    status: where kernels note an index out of range.  demands: pairs of dims that have to be equal for a run.
    """

    model: Model
    actions: list[Action]
    sizes: Mapping[str, tuple[str, int]]
    inputs: Mapping[Value, Tensor]
    outputs: Mapping[Value, Tensor | None]
    status: Tensor
    demands: tuple[tuple[Known, Known], ...] = ()

    @property
    def steps(self) -> list[Step]:
        return [action for action in self.actions if isinstance(action, Step)]

    @property
    def is_static(self) -> bool:
        """Whether all sizes are numbers."""
        return not self.sizes
