"""Inlined subgraphs: the nodes of a body become steps of the enclosing program, which read captured values directly."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TypeVar

from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.prepare.outlining import resolve_identity
from sardonyx._src.compile.prepare.prepare import PreparedModel
from sardonyx._src.compile.program.program import FallbackOp
from sardonyx._src.compile.program.step import Jump, Step
from sardonyx._src.compile.program.tensor import Buffer, TensorView, element_bytes
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known
from sardonyx._src.ir.graph import Graph, Node, Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.walk import captures
from sardonyx._src.ops.bind import literal_of

T = TypeVar("T")


class FallbackRequired(Exception):
    """A part of a subgraph has no lowering: the control-flow node that contains it becomes a fallback operation."""


def try_lower(lowering: Lowering, lower: Callable[[], None]) -> bool:
    """Runs `lower` and returns True; if it raises FallbackRequired, restores the state of the lowering and returns False."""
    num_actions, lowered, guards = len(lowering.actions), set(lowering.lowered), dict(lowering.guards)
    tensors = {value: [*layouts] for value, layouts in lowering.tensors.items()}
    try:
        lower()
    except FallbackRequired:
        del lowering.actions[num_actions:]
        lowering.lowered, lowering.guards, lowering.tensors = lowered, guards, tensors
        return False
    return True


class InlinedSubgraph(Lowering):
    """The lowering of a subgraph, whose steps are collected separately from those of the enclosing graph.

    destinations: tensors that outputs of the subgraph are written to, by the value that each output is identical to.
    Raises FallbackRequired for a node without a lowering, and for captured values that no kernel can read.
    """

    def __init__(self, lowering: Lowering, graph: Graph) -> None:
        super().__init__(
            PreparedModel(lowering.model, lowering.facts, lowering.sizes), lowering.target, graph
        )
        self.lowering, self.status, self.lowered = lowering, lowering.status, set(lowering.lowered)
        self.captures: Collection[Value] = captures(graph)
        self.destinations: dict[Value, TensorView] = {}
        self.outputs.update(dict.fromkeys(map(resolve_identity, graph.outputs)))
        for value in self.captures:
            if lowering.constant(value) is None:
                require(lowering.is_native(value))
                lowering.any_layout(value)
                self.tensors[value] = [*lowering.tensors[value]]

    def lower(self) -> None:
        """Lowers the nodes of the graph."""
        for node in self.graph.nodes:
            if node not in self.lowered:
                self.lower_node(node)
        require(all(isinstance(action, Step) for action in self.actions))
        self.lowering.guards.update(self.guards)

    def lower_node(self, node: Node) -> None:
        if literal_of(node) is not None:
            self.lowered.add(node)
        else:
            Lowering.lower_node(self, node)

    def constant(self, value: Value | None) -> Array | None:
        if value in self.captures:
            return self.lowering.constant(value)
        literal = None if value is None or value.producer is None else literal_of(value.producer)
        return Lowering.constant(self, value) if literal is None else literal.numpy()

    def fallback_op(self, node: Node) -> FallbackOp:
        raise FallbackRequired

    def allocate(self, value: Value, role: str = "arena") -> TensorView:
        destination = self.destinations.get(value) if role == "output" else None
        return destination or Lowering.allocate(self, value)

    @property
    def steps(self) -> list[Step]:
        return [action for action in self.actions if isinstance(action, Step)]

    def require_type(self, value: Value | None, dtype: DataType, shape: tuple[Known, ...]) -> None:
        """Requires a value to have this element type and these dims in every run."""
        require(value is not None and self.dtype_of(value) is dtype and self.shape(value) == shape)

    def copy_result_to(self, value: Value, target: TensorView) -> None:
        """Copies a result to a tensor of its dims, unless it was computed there."""
        tensor = self.result_tensor(value, target.shape)
        if tensor.buffer is not target.buffer:
            self.node_names = (value.name,)
            self.emit(copy_step(tensor, target))

    def result_tensor(self, value: Value, shape: tuple[Known, ...]) -> TensorView:
        """A result in any layout; reshaped to these dims, which may differ from its own by unit dims."""
        require(self.is_native(value))
        self.node_names = (value.name,)
        tensor = self.any_layout(value)
        return tensor if tensor.shape == shape else self.dense(value).reshape(shape)


def require(condition: bool) -> None:
    """Raises FallbackRequired unless the condition holds."""
    if not condition:
        raise FallbackRequired


def require_value(value: T | None) -> T:
    """The value; raises FallbackRequired for None."""
    if value is None:
        raise FallbackRequired
    return value


# --- in-place updates of loop-carried state --------------------------------------------------


def update_state_in_place(steps: list[Step], result: TensorView, state: TensorView) -> list[Step] | None:
    """The steps with the result written directly over the state that it replaces; None if the state is read afterwards.

    state: covers a buffer of its own.
    """
    first_write = next((i for i, step in enumerate(steps) if accesses(step.writes, result.buffer)), None)
    if first_write is None or not covers_buffer(result):
        return None
    last_read = max((i for i, step in enumerate(steps) if accesses(step.reads, state.buffer)), default=-1)
    if (
        last_read > first_write
        or (last_read == first_write and not can_update_in_place(steps[first_write], state))
        or is_inside_loop(steps, first_write, last_read)
    ):
        return None
    return [replace_buffer(step, result.buffer, state.buffer) for step in steps]


def covers_buffer(tensor: TensorView) -> bool:
    """Whether a tensor is dense and is the whole of an arena buffer."""
    is_all = tensor.buffer.size == tensor.num_elements * element_bytes(tensor.dtype) and tensor.offset == 0
    return tensor.buffer.role == "arena" and tensor.is_dense and is_all


def can_update_in_place(step: Step, state: TensorView) -> bool:
    """Whether a step may overwrite the state that it reads: it is elementwise, and all accesses have the same layout."""
    result, *other_results = step.writes
    reads = [tensor for tensor in step.reads if tensor.buffer is state.buffer]
    return (
        step.in_place
        and not other_results
        and len({memory_layout(tensor) for tensor in (result, *reads)}) == 1
    )


def memory_layout(tensor: TensorView) -> tuple[object, ...]:
    """Where the elements of a tensor lie in its buffer, regardless of unit dims."""
    dims = [(dim, stride) for dim, stride in zip(tensor.shape, tensor.strides, strict=True) if dim != 1]
    return element_bytes(tensor.dtype), tensor.offset, *dims


def is_inside_loop(steps: list[Step], first: int, last: int) -> bool:
    """Whether both steps are in an inner loop, in which step `last` also runs after step `first`."""
    ends = ((i, i + step.jump.distance) for i, step in enumerate(steps) if step.jump is not None)
    return any(start <= last and first <= end for end, start in ends)


def accesses(tensors: tuple[TensorView, ...], buffer: Buffer) -> bool:
    return any(tensor.buffer is buffer for tensor in tensors)


def replace_buffer(step: Step, old: Buffer, new: Buffer) -> Step:
    """The step with all tensors of one buffer moved to another one."""

    def move(tensor: TensorView) -> TensorView:
        return replace(tensor, buffer=new) if tensor.buffer is old else tensor

    return replace(
        step,
        args=tuple(move(arg) if isinstance(arg, TensorView) else arg for arg in step.args),
        reads=tuple(map(move, step.reads)),
        writes=tuple(map(move, step.writes)),
        jump=None if step.jump is None else Jump(move(step.jump.flag), step.jump.distance),
    )
