"""Steps of control: they decide where a tape goes on.

A loop is one step that begins it and, behind its body, another that goes back; both are of one kernel.  A branch is a
step that goes to the second of two ways, and another that passes by it at the end of the first.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from sardonyx._src.compile.blocks import Slot
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.status import (
    CALLED,
    COUNT,
    FAULT,
    ITERATIONS,
    LIMIT,
    LOOPED,
    MOST,
    MOST_NODES,
    NODES,
    SCANNED,
    WORDS,
)
from sardonyx._src.compile.step import Jump, Kernel, Step
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.compile.text import Kind, Value
from sardonyx._src.compile.values import KernelText
from sardonyx._src.ir.dims import Known

# Words of a counter: turns so far, those still to come behind this one, the place of this one's slices in buffers of so
# many turns, and whether these have place for more behind that.
FORWARD, BACKWARD, PLACE, IS_OPEN = range(4)
Trips = Known | Tensor  # a number, or a tensor of one int64


def turn(
    counter: Tensor,
    flag: Tensor,
    status: Tensor,
    trips: Trips | None,
    goes: Tensor | None,
    nodes: int,
    distance: int,
    limit: int,
    begun: tuple[Tensor, ...] = (),
    *,
    is_needed: bool = False,
    room: int = 0,
) -> Step:
    """The step that begins a loop, if it goes forward, past the loop, or the one that ends a turn and goes back.

    counter: [4], see `FORWARD`.  flag: [1], its own memory.  trips: how many turns there are at most.  goes: one bool,
    whether there is another turn.  nodes: that a turn calls.  limit: `LOOPED` or `SCANNED`, whose turns are counted before.
    begun: what turns write part by part, which therefore has a place from the first turn on.  is_needed: whether it is a
    fault if there is no turn.  room: turns that buffers have place for, if there are any.
    """
    told = replace(status, shape=(WORDS,))
    form = (isinstance(trips, Tensor), goes is not None, room > 0)
    words = ("tensor" if form[0] else "number", "if" if form[1] else "", "room" if form[2] else "")
    kernel = Kernel("_".join(("turn", *filter(None, words))), partial(turn_source, form=form))
    begins = distance > 0
    numbers = (0 if begins else nodes, int(begins), int(limit == SCANNED), int(is_needed), room)
    args = (
        counter,
        flag,
        told,
        MOST if trips is None else trips,
        *numbers,
        *([] if goes is None else [goes]),
    )
    reads = tuple(one for one in (trips, goes) if isinstance(one, Tensor))
    return Step(kernel, args, 1, reads, (counter, flag, told, *begun), jump=Jump(flag, distance))


def turn_source(name: str, target: Target, form: tuple[bool, bool, bool]) -> str:
    """args: counter, flag, status, trips, nodes, 1 to begin, 1 for a scan, 1 if it has to go on, room, and the condition
    if there is one.  form: whether trips are in memory, whether there is a condition, and room."""
    is_read, has_condition, has_room = form
    code = ControlText(target.fused)
    counter, flag = code.pointer(0), code.pointer(1)
    trips = code.word(code.pointer(3), 0) if is_read else code.size(3)
    begins, scans = (code.size(i).differs(0) for i in (5, 6))
    before = code.select(begins, -1, code.word(counter, FORWARD))
    done = before + 1
    code.put(counter, FORWARD, done)
    code.put(counter, BACKWARD, trips - done - 1)
    if has_room:
        room = code.size(8)
        _, place = code.divided(done, room)
        code.put(counter, PLACE, place)
        code.put(counter, IS_OPEN, (place + 1).differs(room).converted("zext", "i64"))
    goes = done < trips
    if has_condition:
        goes = goes & code.truth(9)
    code.call_nodes(code.size(4))
    count = code.select(scans, trips, done)
    most = code.word(code.status, ITERATIONS) + scans.converted("zext", "i64")
    code.pass_limit(
        goes & (count >= most), code.select(scans, SCANNED, code.constant(LOOPED, done.kind)), count
    )
    code.when(code.size(7).differs(0) & goes.equals(0), lambda: code.put(code.status, FAULT, done * 0 + 1))
    goes = goes & code.word(code.status, FAULT).equals(0)
    code.put(flag, 0, (goes ^ begins).converted("zext", "i64"))
    return code.module(name)


def branch(flag: Tensor, status: Tensor, condition: Tensor, nodes: tuple[int, int], distance: int) -> Step:
    """The step that goes to the second of two ways unless one bool is set; nodes: that each of them calls."""
    told = replace(status, shape=(WORDS,))
    args = (flag, told, condition, *nodes)
    return Step(BRANCH, args, 1, (condition,), (flag, told), jump=Jump(flag, distance))


def branch_source(name: str, target: Target) -> str:
    """args: flag, status, condition, nodes of the first way and of the second."""
    code = ControlText(target.fused, status=1)
    is_first = code.truth(2)
    code.put(code.pointer(0), 0, is_first.equals(0).converted("zext", "i64"))
    code.call_nodes(code.select(is_first, code.size(3), code.size(4)))
    return code.module(name)


def passing(always: Tensor, distance: int) -> Step:
    """The step that goes so far on; always: [1], a word that is not 0."""
    return Step(NOTHING, (), 0, (always,), (), jump=Jump(always, distance))


class ControlText(KernelText):
    """The instructions of a kernel that knows the words of `compile.status`."""

    def __init__(self, fused: bool, status: int = 2) -> None:
        """status: which of the arguments they are."""
        super().__init__(fused)
        self.status = self.pointer(status)

    def place(self, base: str, index: int) -> Slot:
        return Slot(self.address(base, self.constant(index, self.first.kind), "i64"), self.first.kind)

    def word(self, base: str, index: int) -> Value:
        return self.read(self.place(base, index))

    def put(self, base: str, index: int, value: Value) -> None:
        self.write(self.place(base, index), value)

    def truth(self, index: int) -> Value:
        """Whether the bool that an argument points to is set."""
        return self.read(Slot(self.pointer(index), Kind("i8"))).differs(0)

    def call_nodes(self, count: Value) -> None:
        """Counts nodes that have been called."""
        total = self.word(self.status, NODES) + count
        self.put(self.status, NODES, total)
        is_passed = total > self.word(self.status, MOST_NODES)
        self.pass_limit(is_passed, self.constant(CALLED, total.kind), total)

    def pass_limit(self, condition: Value, limit: Value, count: Value) -> None:
        """Notes that a limit is passed where the condition holds, unless something is noted already."""

        def note() -> None:
            self.put(self.status, FAULT, self.constant(1, count.kind))
            self.put(self.status, LIMIT, limit)
            self.put(self.status, COUNT, count)

        self.when(condition & self.word(self.status, FAULT).equals(0), note)


def nothing_source(name: str, target: Target) -> str:
    return KernelText(target.fused).module(name)


BRANCH = Kernel("branch", branch_source)
NOTHING = Kernel("nothing", nothing_source)
ALWAYS = np.ones(1, np.int64)
