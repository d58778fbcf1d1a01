"""Subgraphs that steps run again and again: what is carried from turn to turn, and what turns take and leave.

A state has memory of its own, in which it is before the first turn and after the last.  A turn makes the next state
there if nothing reads the former one any more, else elsewhere, and then it is copied.
"""

from __future__ import annotations

from dataclasses import replace

from sardonyx._src.compile.body import source
from sardonyx._src.compile.control.scope import Scope, insist, there, written_over
from sardonyx._src.compile.control.turns import BACKWARD, FORWARD, IS_OPEN, PLACE, Trips, passing, turn
from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.moves.copy import copied
from sardonyx._src.compile.moves.gather import Tuples, gathered, picking
from sardonyx._src.compile.moves.layout import Layout
from sardonyx._src.compile.program import Action, Collect
from sardonyx._src.compile.step import Step
from sardonyx._src.compile.tensor import Tensor, row_major
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known
from sardonyx._src.ir.graph import Graph, Value

ROOM = 1 << 18  # bytes of a buffer, if that is more than a slice
MOST, FEW = 1024, 16  # turns of a buffer; and where the size of a slice is not known


class Repeated:
    """The body of a loop on its way to steps.  Raises OnHostError for what has to stay on the host.

    Where slices have dims that are not numbers, the reference engine says which dims nothing has that no turn has left.
    """

    def __init__(self, at: Lowering, body: Graph) -> None:
        self.at, self.body, self.scope = at, body, Scope(at, body)
        self.counter = at.temporary(DataType.INT64, (4,), "turns")
        self.flag = at.temporary(DataType.INT64, (1,), "goes on")
        self.states: list[tuple[Tensor, Value]] = []  # each with what it becomes
        self.begun: list[Tensor] = []  # what turns leave slices in
        self.collected: dict[Value, Value] = {}  # outputs of unknown length, each with what turns make
        self.has_open_slices = False  # of dims that are not numbers

    def number(self, shape: tuple[Known, ...] = (), word: int = FORWARD) -> Tensor:
        """A number of turns as a tensor of one element."""
        return replace(self.counter, shape=shape, strides=row_major(shape), offset=word)

    def carry(self, formal: Value, initial: Value, result: Value, output: Value | None) -> None:
        """A value that turns hand on, from what it is at first to an output of the node."""
        insist(self.at.is_native(initial))
        dtype, shape = self.at.dtype(initial), self.at.known_shape(initial)
        for value in (formal, result):
            self.scope.holds(value, dtype, shape)
        first = self.at.strided(initial)
        if source(result) is formal:
            self.scope.bind(formal, *self.at.forms[initial])
        else:
            self.begin(formal, first, result, self.memory(output, dtype, shape))
        if output is not None:
            self.at.bind(output, *self.scope.forms[formal])

    def begin(self, formal: Value, first: Tensor, result: Value, state: Tensor) -> None:
        """A state in memory of its own."""
        self.at.emit(copied(first, state))
        self.scope.bind(formal, state)
        self.states.append((state, result))

    def memory(self, output: Value | None, dtype: DataType, shape: tuple[Known, ...]) -> Tensor:
        """Memory for what becomes an output of the node, if that is wanted."""
        if output is None:
            return self.at.temporary(dtype, shape, "state")
        insist(self.at.dtype_of(output) is dtype and self.at.shape(output) == shape)
        return self.at.allocated(output, "output" if output in self.at.outputs else "arena")

    def take(self, formal: Value, whole: Value, axis: int, *, backward: bool) -> None:
        """A slice of a value for each turn."""
        x = self.at.strided(whole)
        shape = without(x.shape, axis)
        self.scope.holds(formal, x.dtype, shape)
        made = self.scope.temporary(x.dtype, shape, formal.name)
        number = self.number((), BACKWARD if backward else FORWARD)
        self.scope.names = (formal.name,)
        self.scope.emit(gathered(x, number, made, axis, self.at.status))
        self.scope.bind(formal, made)

    def leave(self, result: Value, output: Value, axis: int = 0, *, backward: bool = False) -> Known:
        """A slice of an output from each turn; answers how many there are."""
        wanted, shape = there(self.at.shape(output)), there(self.scope.shape(result))
        insist(without(wanted, axis) == shape)
        whole = self.memory(output, self.scope.dtype(result), wanted)
        element = self.scope.made(result, shape)
        number = self.number((), BACKWARD if backward else FORWARD)
        self.scope.emit(put(element, number, whole, axis, self.at.status))
        self.begun.append(whole)
        self.has_open_slices |= not all(isinstance(dim, int) for dim in shape)
        self.at.bind(output, whole)
        return wanted[axis]

    def collect(self, result: Value, output: Value) -> None:
        """A slice of an output from each turn, where only a run shows how many there are: the host puts them together."""
        insist(not isinstance(self.at, Scope))
        there(self.scope.shape(result))
        self.collected[output] = result

    def buffered(self) -> tuple[dict[Value, Tensor], int]:
        """Memory for slices that the host has not taken yet, and of how many turns."""
        slices = {o: self.scope.made(r, self.scope.known_shape(r)) for o, r in self.collected.items()}
        room = min((turns_of(one.bytes) for one in slices.values()), default=0)
        buffers: dict[Value, Tensor] = {}
        for output, one in slices.items():
            buffers[output] = self.at.temporary(one.dtype, (room, *one.shape), output.name)
            self.scope.emit(put(one, self.number((), PLACE), buffers[output], 0, self.at.status))
        self.begun += buffers.values()
        return buffers, room

    # --- the end of a turn -------------------------------------------------------------------

    def close(
        self, trips: Trips | None, limit: int, first: Tensor | None = None, goes: Tensor | None = None
    ) -> None:
        """Puts down the steps; `first` and `goes` are whether there is a first turn, and another one behind a turn."""
        buffers, room = self.buffered()
        inside: list[Action] = [*self.settled()]
        if buffers:
            inside += [
                passing(self.number((1,), IS_OPEN), 2),
                Collect(buffers, self.number((1,)), is_last=False),
            ]
        count, control = len(inside), (self.counter, self.flag, self.at.status, trips)
        insist(count > 0)
        begun, nodes = tuple(self.begun), len(list(self.body.nodes))
        begins = turn(*control, first, 0, count + 2, limit, begun, is_needed=self.has_open_slices, room=room)
        self.at.emit(begins)
        self.at.actions += inside
        self.at.emit(turn(*control, goes, nodes, -count, limit, room=room))
        if buffers:
            self.at.actions.append(Collect(buffers, self.number((1,)), is_last=True))

    def settled(self) -> list[Step]:
        """The steps of a turn, at the end of which every state is the next one."""
        results = [self.apart(result, state) for state, result in self.states]
        steps = self.scope.steps
        for i, (state, _) in enumerate(self.states):
            result = results[i]
            over = None if self.is_state(result) else written_over(steps, result, state)
            if over is None:
                self.scope.names = (result.storage.name,)
                steps.append(copied(result, state).named(self.scope.names))
            else:
                steps = over
                results = [
                    replace(r, storage=state.storage) if r.storage is result.storage else r for r in results
                ]
        return steps

    def apart(self, result: Value, state: Tensor) -> Tensor:
        """The next state in memory that no state has."""
        found = self.scope.made(result, state.shape)
        if self.is_state(found):
            made = self.scope.temporary(found.dtype, found.shape, result.name)
            self.scope.emit(copied(found, made))
            return made
        return found

    def is_state(self, tensor: Tensor) -> bool:
        """Whether it lies in the memory of a state."""
        return any(tensor.storage is state.storage for state, _ in self.states)


def turns_of(size: Known) -> int:
    """The turns for whose slices of so many bytes a buffer has place."""
    return FEW if not isinstance(size, int) else min(max(ROOM // max(size, 1), 1), MOST)


def without(shape: tuple[Known, ...], axis: int) -> tuple[Known, ...]:
    return shape[:axis] + shape[axis + 1 :]


def put(element: Tensor, index: Tensor, y: Tensor, axis: int, status: Tensor) -> Step:
    """y[before, index, after] = element[before, after]; index: one int64."""
    tuples = Tuples(index, (0,) * element.rank, 0, (y.shape[axis],), (y.strides[axis],))
    layout = Layout(element.shape, (element.strides, without(y.strides, axis)))
    return picking("y", element, y, tuples, layout, status, ())
