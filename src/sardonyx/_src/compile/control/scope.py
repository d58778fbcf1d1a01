"""Subgraphs lowered in place: their nodes become steps of the program around them, over the tensors that are there."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TypeVar

from sardonyx._src.compile.body import source
from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.moves.copy import copied
from sardonyx._src.compile.prepare import Prepared
from sardonyx._src.compile.program import HostCall
from sardonyx._src.compile.step import Jump, Step
from sardonyx._src.compile.tensor import Storage, Tensor, width
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known
from sardonyx._src.ir.graph import Graph, Node, Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.walk import captured
from sardonyx._src.ops.bind import literal_of

T = TypeVar("T")


class OnHostError(Exception):
    """Something in a subgraph is no matter of native steps: the reference kernel runs the node that holds it."""


def attempted(at: Lowering, lower: Callable[[], None]) -> bool:
    """Whether a node could be lowered; where `lower` raises OnHostError all is as it was."""
    count, done, demands = len(at.actions), set(at.done), dict(at.demands)
    forms = {value: [*found] for value, found in at.forms.items()}
    try:
        lower()
    except OnHostError:
        del at.actions[count:]
        at.done, at.demands, at.forms = done, demands, forms
        return False
    return True


class Scope(Lowering):
    """A subgraph on its way to steps, which are kept apart from those around it.

    places: where results are to be written that are outputs of the subgraph, by the value that each is the same as.
    Raises OnHostError for what has to stay on the host.
    """

    def __init__(self, at: Lowering, graph: Graph) -> None:
        super().__init__(Prepared(at.model, at.facts, at.sizes), at.target, graph)
        self.at, self.status, self.done = at, at.status, set(at.done)
        self.captured: Collection[Value] = captured(graph)
        self.places: dict[Value, Tensor] = {}
        self.outputs.update(dict.fromkeys(map(source, graph.outputs)))
        for value in self.captured:
            if at.constant(value) is None:
                insist(at.is_native(value))
                at.strided(value)
                self.forms[value] = [*at.forms[value]]

    def lower(self) -> None:
        """Lowers the nodes of the graph."""
        for node in self.graph.nodes:
            if node not in self.done:
                self.node(node)
        insist(all(isinstance(action, Step) for action in self.actions))
        self.at.demands.update(self.demands)

    def node(self, node: Node) -> None:
        if literal_of(node) is not None:
            self.done.add(node)
        else:
            Lowering.node(self, node)

    def constant(self, value: Value | None) -> Array | None:
        if value in self.captured:
            return self.at.constant(value)
        literal = None if value is None or value.producer is None else literal_of(value.producer)
        return Lowering.constant(self, value) if literal is None else literal.numpy()

    def host_call(self, node: Node) -> HostCall:
        raise OnHostError

    def allocated(self, value: Value, role: str = "arena") -> Tensor:
        found = self.places.get(value) if role == "output" else None
        return found or Lowering.allocated(self, value)

    @property
    def steps(self) -> list[Step]:
        return [action for action in self.actions if isinstance(action, Step)]

    def holds(self, value: Value | None, dtype: DataType, shape: tuple[Known, ...]) -> None:
        """Insists that a value has this element type and these dims in every run."""
        insist(value is not None and self.dtype_of(value) is dtype and self.shape(value) == shape)

    def deliver(self, value: Value, place: Tensor) -> None:
        """Puts a value into a tensor of its dims, unless it has been made there."""
        form = self.made(value, place.shape)
        if form.storage is not place.storage:
            self.names = (value.name,)
            self.emit(copied(form, place))

    def made(self, value: Value, shape: tuple[Known, ...]) -> Tensor:
        """The value in any form, in these dims if it has one element."""
        insist(self.is_native(value))
        self.names = (value.name,)
        form = self.strided(value)
        return form if form.shape == shape else self.dense(value).reshaped(shape)


def insist(condition: bool) -> None:
    """Raises OnHostError unless the condition holds."""
    if not condition:
        raise OnHostError


def there(found: T | None) -> T:
    """What is there; raises OnHostError for None."""
    if found is None:
        raise OnHostError
    return found


# --- results in the place of what they follow ------------------------------------------------


def written_over(steps: list[Step], result: Tensor, state: Tensor) -> list[Step] | None:
    """Steps that make a result in the place of the state that it follows; None where the state is read behind that.

    The state has memory of its own, all of which it is.
    """
    first = next((i for i, one in enumerate(steps) if touches(one.writes, result.storage)), None)
    if first is None or not is_whole(result):
        return None
    last = max((i for i, one in enumerate(steps) if touches(one.reads, state.storage)), default=-1)
    if (
        last > first
        or (last == first and not is_alike(steps[first], state))
        or comes_again(steps, first, last)
    ):
        return None
    return [moved(one, result.storage, state.storage) for one in steps]


def is_whole(tensor: Tensor) -> bool:
    """Whether a dense tensor is all of a storage of the arena."""
    is_all = tensor.storage.size == tensor.count * width(tensor.dtype) and tensor.offset == 0
    return tensor.storage.role == "arena" and tensor.is_dense and is_all


def is_alike(step: Step, state: Tensor) -> bool:
    """Whether a step may write where it reads the state: element by element."""
    made, *others = step.writes
    read = [one for one in step.reads if one.storage is state.storage]
    return step.in_place and not others and len({way(one) for one in (made, *read)}) == 1


def way(tensor: Tensor) -> tuple[object, ...]:
    """Where the elements of a tensor lie in its storage; the stride of one element says nothing."""
    real = [(dim, stride) for dim, stride in zip(tensor.shape, tensor.strides, strict=True) if dim != 1]
    return width(tensor.dtype), tensor.offset, *real


def comes_again(steps: list[Step], first: int, last: int) -> bool:
    """Whether both places are in a loop, so that what is at `last` comes behind `first` as well."""
    ends = ((i, i + one.jump.distance) for i, one in enumerate(steps) if one.jump is not None)
    return any(start <= last and first <= end for end, start in ends)


def touches(tensors: tuple[Tensor, ...], storage: Storage) -> bool:
    return any(one.storage is storage for one in tensors)


def moved(step: Step, old: Storage, new: Storage) -> Step:
    """The step with all that lies in one storage in another one."""

    def place(tensor: Tensor) -> Tensor:
        return replace(tensor, storage=new) if tensor.storage is old else tensor

    return replace(
        step,
        args=tuple(place(arg) if isinstance(arg, Tensor) else arg for arg in step.args),
        reads=tuple(map(place, step.reads)),
        writes=tuple(map(place, step.writes)),
        jump=None if step.jump is None else Jump(place(step.jump.flag), step.jump.distance),
    )
