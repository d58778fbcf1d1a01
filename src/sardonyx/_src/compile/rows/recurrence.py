"""LSTM, GRU and RNN from step to step: what the inputs give to the gates is there already."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from sardonyx._src.compile.blocks import I64, Slot
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.rows.vectors import RowsText
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.compile.text import Value
from sardonyx._src.ir.dims import ceil_div

Cell = Literal[
    "lstm", "gru", "reset_gru", "rnn"
]  # whose reset gate weighs what the state gives, or the state
TOGETHER = 4  # sequences for which weights are read once
GATES: dict[Cell, int] = {"lstm": 4, "gru": 3, "reset_gru": 3, "rnn": 1}


@dataclass(frozen=True, slots=True)
class Recurrence:
    """One direction of a layer; all tensors are float32, their last dim dense.

    given: [length, batch, gates * hidden], the inputs' part of the gates, biases included.  weights: [hidden,
    gates * hidden].  late: [hidden], the bias of a GRU's hidden gate that its reset gate weighs.  h, c: [batch,
    hidden], the first states.  y: [length, batch, hidden].  last_h, last_c: [batch, hidden].  Only an LSTM has c.
    """

    cell: Cell
    given: Tensor
    weights: Tensor
    late: Tensor
    h: Tensor
    c: Tensor
    y: Tensor
    last_h: Tensor
    last_c: Tensor
    backward: bool


def recurrent(net: Recurrence, nodes: tuple[str, ...] = ()) -> Step:
    """All steps of a direction; a unit is some sequences of the batch."""
    given, y = (turned(t) if net.backward else t for t in (net.given, net.y))
    (length, batch, hidden), gates = y.shape, GATES[net.cell]
    tensors = (given, net.weights, net.late, net.h, net.c, y, net.last_h, net.last_c)
    states = (net.h, net.c, net.last_h, net.last_c)
    pitches = (*given.strides[:2], *y.strides[:2], *(t.strides[0] for t in states))
    return Step(
        Kernel(f"recurrence_{net.cell}", lambda name, target: RecurrenceText(target, net.cell).module(name)),
        (*tensors, length, batch, hidden, *pitches),
        ceil_div(batch, TOGETHER),
        tensors[:5],
        tensors[5:],
        flops=given.count * hidden * 2,
        traffic=given.bytes + y.bytes + net.weights.bytes * length,
        scratch=hidden * (4 * TOGETHER * (gates + 2)),
        nodes=nodes,
    )


def turned(tensor: Tensor) -> Tensor:
    """A tensor from its last entry to its first."""
    step = tensor.strides[0]
    offset = tensor.offset + (tensor.shape[0] - 1) * step
    return replace(tensor, strides=(-step, *tensor.strides[1:]), offset=offset)


@dataclass(frozen=True, slots=True)
class Room:
    """Addresses of a sequence's states, h and c, and of what h gives to its gates."""

    state: tuple[str, str]
    gates: str


class RecurrenceText(RowsText):
    """The text of a recurrence.

    args: given, weights, late, h, c, y, last h, last c, length, batch, hidden, then pitches: of given and of y from
    step to step and from sequence to sequence, of h, c, last h and last c from sequence to sequence.
    scratch: for each of the sequences that go together h, c or the state that is reset, and what h gives to the gates.
    """

    def __init__(self, target: Target, cell: Cell) -> None:
        super().__init__(target)
        self.cell, self.many = cell, max(target.registers // 2, 1)
        self.states = 2 if cell == "lstm" else 1
        self.given, self.weights, self.late, *states = (self.pointer(i) for i in range(8))
        self.length, self.batch, self.hidden = (self.size(i) for i in range(8, 11))
        self.pitches = [self.size(i) for i in range(11, 19)]
        self.first_states, self.y, self.last_states = states[:2], states[2], states[3:]
        self.rows = self.hidden * GATES[cell]
        self.room = [self.rooms(self.constant(i, I64)) for i in range(TOGETHER)]
        self.counted(self.first, self.last, 1, self.unit, "unit")

    def rooms(self, place: Value) -> Room:
        """Scratch of one of the sequences that go together."""
        first = place * (GATES[self.cell] + 2)
        h, c, gates = (self.row(self.scratch, (first + i) * self.hidden) for i in range(3))
        return Room((h, c), gates)

    def unit(self, unit: Value) -> None:
        """Some sequences together, or what is left of them one by one."""
        first = unit * TOGETHER
        end = first + TOGETHER
        self.when(end <= self.batch, lambda: self.sequences(first, TOGETHER))
        few = self.select(end <= self.batch, self.batch, first)
        self.counted(few, self.batch, 1, lambda number: self.sequences(number, 1), "sequence")

    def sequences(self, first: Value, count: int) -> None:
        """`count` sequences, step by step."""
        each = self.constant(count, I64)
        self.counted(self.zero, each, 1, lambda i: self.begin(first + i, self.rooms(i)), "begin")

        def step(time: Value) -> None:
            if self.cell == "reset_gru":
                self.product(self.zero, self.hidden * 2, 0, count)
                self.counted(
                    self.zero, each, 1, lambda i: self.weighed(time, first + i, self.rooms(i)), "weigh"
                )
                self.product(self.hidden * 2, self.hidden, 1, count)
            else:
                self.product(self.zero, self.rows, 0, count)
            self.counted(self.zero, each, 1, lambda i: self.moves(time, first + i, self.rooms(i)), "move")

        self.counted(self.zero, self.length, 1, step, "time")
        self.counted(self.zero, each, 1, lambda i: self.end(first + i, self.rooms(i)), "end")

    def begin(self, number: Value, room: Room) -> None:
        for i in range(self.states):
            self.copy(self.row(self.first_states[i], number * self.pitches[4 + i]), room.state[i])

    def end(self, number: Value, room: Room) -> None:
        for i in range(self.states):
            self.copy(room.state[i], self.row(self.last_states[i], number * self.pitches[6 + i]))

    def copy(self, source: str, target: str) -> None:
        def body(at: Value, _: int, mask: Value | None) -> None:
            self.put(self.fetched(source, at, mask), target, at, mask)

        self.along(self.hidden, body, 1)

    def product(self, first: Value, rows: Value, state: int, count: int) -> None:
        """What a state of `count` sequences gives to rows of the gates."""

        def block(at: Value, many: int, mask: Value | None) -> None:
            self.recurrent(first + at, many, mask, self.room[:count], state)

        self.along(rows, block, max(self.many // count, 1))

    def weighed(self, time: Value, number: Value, room: Room) -> None:
        """The state that the reset gate leaves of a sequence."""
        inputs = self.row(self.given, time * self.pitches[0] + number * self.pitches[1])

        def body(at: Value, _: int, mask: Value | None) -> None:
            place = self.hidden + at
            reset = self.fetched(inputs, place, mask) + self.fetched(room.gates, place, mask)
            found = self.applied("sigmoid", reset) * self.fetched(room.state[0], at, mask)
            self.put(found, room.state[1], at, mask)

        self.along(self.hidden, body, 1)

    def recurrent(self, at: Value, many: int, mask: Value | None, rooms: list[Room], state: int) -> None:
        """What a state gives to some of the gates."""
        parts = [self.gathers(0, many) for _ in rooms]

        def term(k: Value) -> None:
            weights = self.row(self.weights, k * self.rows)
            vectors = [self.fetched(weights, at + v * self.lanes, mask) for v in range(many)]
            for room, some in zip(rooms, parts, strict=True):
                h = self.wide(self.read(Slot(self.row(room.state[state], k), self.scalar)))
                for vector, part in zip(vectors, some, strict=True):
                    self.write(part, self.fma(h, vector, self.read(part)))

        self.counted(self.zero, self.hidden, 1, term, "k")
        for room, some in zip(rooms, parts, strict=True):
            for v, part in enumerate(some):
                self.put(self.read(part), room.gates, at + v * self.lanes, mask)

    def moves(self, time: Value, number: Value, room: Room) -> None:
        """The next states of a sequence."""
        inputs = self.row(self.given, time * self.pitches[0] + number * self.pitches[1])
        result = self.row(self.y, time * self.pitches[2] + number * self.pitches[3])
        cells = {"lstm": self.lstm, "gru": self.gru, "reset_gru": self.reset_gru, "rnn": self.rnn}
        cell = cells[self.cell]

        def body(at: Value, _: int, mask: Value | None) -> None:
            found = []
            for number in range(GATES[self.cell]):
                place = self.hidden * number + at
                found.append((self.fetched(inputs, place, mask), self.fetched(room.gates, place, mask)))
            h = cell(found, at, mask, room)
            for target in (room.state[0], result):
                self.put(h, target, at, mask)

        self.along(self.hidden, body, 1)

    def lstm(self, gates: list[tuple[Value, Value]], at: Value, mask: Value | None, room: Room) -> Value:
        i, o, f, c = (a + b for a, b in gates)
        before = self.fetched(room.state[1], at, mask)
        kept = self.applied("sigmoid", f) * before
        after = self.fma(self.applied("sigmoid", i), self.applied("tanh", c), kept)
        self.put(after, room.state[1], at, mask)
        return self.applied("sigmoid", o) * self.applied("tanh", after)

    def gru(self, gates: list[tuple[Value, Value]], at: Value, mask: Value | None, room: Room) -> Value:
        z, r = (self.applied("sigmoid", a + b) for a, b in gates[:2])
        given, recurrent = gates[2]
        h = self.applied("tanh", self.fma(r, recurrent + self.fetched(self.late, at, mask), given))
        return (1 - z) * h + z * self.fetched(room.state[0], at, mask)

    def reset_gru(self, gates: list[tuple[Value, Value]], at: Value, mask: Value | None, room: Room) -> Value:
        z, _, h = (a + b for a, b in gates)
        z = self.applied("sigmoid", z)
        return (1 - z) * self.applied("tanh", h) + z * self.fetched(room.state[0], at, mask)

    def rnn(self, gates: list[tuple[Value, Value]], at: Value, mask: Value | None, room: Room) -> Value:
        ((given, recurrent),) = gates
        return self.applied("tanh", given + recurrent)
