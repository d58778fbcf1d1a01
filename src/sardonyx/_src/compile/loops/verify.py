"""Whether a kernel is whole: names known, places inside their buffers, vector loops free of order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sardonyx._src.compile.loops.ir import (
    ARITY,
    COMPARISONS,
    Apply,
    For,
    Kernel,
    Load,
    Local,
    Place,
    Put,
    Scalar,
    Select,
    Statement,
    Store,
    distinct,
)
from sardonyx._src.ir.dims import Expr, known_ge, symbol

FOLDS = ("add", "mul", "max", "min")  # that a vector loop may do in any order


def verify(kernel: Kernel) -> None:
    """Asserts that the kernel is whole; what lowers to it is at fault where it is not.

    A place is inside its buffer where the algebra of dims can show it, loop variables replaced by their last values:
    places grow with every variable, since dims are sums of products of what is not negative.
    """
    assert len({b.name for b in kernel.buffers}) == len(kernel.buffers), (
        f"{kernel.name} has two buffers of one name"
    )
    check = Check(kernel)
    check.top()
    check.body(kernel.body, frozenset(), {})


@dataclass(frozen=True, slots=True)
class Check:
    kernel: Kernel
    sizes: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", frozenset(self.kernel.sizes))

    def top(self) -> None:
        """Beside a parallel loop are only names, which every call works out, and no other loop."""
        loops = [s for s in self.kernel.body if isinstance(s, For)]
        if any(loop.parallel for loop in loops):
            alone = len(loops) == 1 and not any(isinstance(s, Store) for s in self.kernel.body)
            assert alone, f"{self.kernel.name} does more than its parallel loop"

    def body(self, body: Sequence[Statement], known: frozenset[str], loops: Mapping[str, Place]) -> None:
        for statement in body:
            match statement:
                case Put():
                    self.value(statement.value, known, loops)
                    known |= {statement.name}
                case Store():
                    role = self.kernel.buffer(statement.buffer).role
                    assert role != "in", f"{statement.buffer} is only read"
                    self.value(statement.value, known, loops)
                    self.place(statement.buffer, statement.at, loops)
                case For():
                    self.loop(statement, known, loops)

    def loop(self, loop: For, known: frozenset[str], loops: Mapping[str, Place]) -> None:
        assert loop.variable not in loops and loop.variable not in self.sizes, f"{loop.variable} is taken"
        self.symbols(loop.extent, loops, f"the extent of {loop.variable}")
        if loop.parallel:
            self.parallel(loop, known, loops)
        if loop.vector:
            self.vector(loop, known)
        self.body(loop.body, known, {**loops, loop.variable: loop.extent})

    def parallel(self, loop: For, outer: frozenset[str], loops: Mapping[str, Place]) -> None:
        """Nothing is handed from one unit of work to another."""
        assert not loops, f"the parallel loop {loop.variable} is inside of another one"
        changed = sorted(put_in(loop.body) & outer)
        assert not changed, f"{changed} change in the parallel loop {loop.variable}"

    def vector(self, loop: For, outer: frozenset[str]) -> None:
        """Names of outside change only by folds, each by one and the same."""
        for statement in loop.body:
            assert not isinstance(statement, For), f"the vector loop {loop.variable} has a loop inside"
            if isinstance(statement, Put) and statement.name in outer:
                assert fold_of(statement) is not None, (
                    f"{statement.name} changes in the vector loop {loop.variable}"
                )

    def value(self, value: Scalar, known: frozenset[str], loops: Mapping[str, Place]) -> None:
        for one in distinct(value):
            match one:
                case Local():
                    assert one.name in known, f"{one.name} is not known yet"
                case Load():
                    self.place(one.buffer, one.at, loops)
                case Apply():
                    assert ARITY.get(one.op) == len(one.args), f"{one.op} of {len(one.args)}"
                case Select():
                    assert one.op in COMPARISONS, f"{one.op} compares nothing"
                case _:
                    pass

    def place(self, name: str, at: Place, loops: Mapping[str, Place]) -> None:
        buffer = self.kernel.buffer(name)
        self.symbols(at, loops, f"a place in {name}")
        last = furthest(at, loops)
        assert known_ge(at, 0), f"{name}[{at}] may lie before the buffer"
        assert known_ge(buffer.size, last + 1), (
            f"{name}[{at}] may reach {last}, behind {buffer.size} elements"
        )

    def symbols(self, place: Place, loops: Mapping[str, Place], what: str) -> None:
        if isinstance(place, Expr):
            strange = place.symbols() - self.sizes - set(loops)
            assert not strange, f"{what} uses {sorted(strange)}, which nothing defines"


def furthest(place: Place, loops: Mapping[str, Place]) -> Place:
    """A place with every loop variable at its last value."""
    if not isinstance(place, Expr):
        return place
    last = {name: symbol(name) for name in place.symbols()} | {
        name: extent - 1 for name, extent in loops.items() if name in place.symbols()
    }
    found = place.substitute(last)
    assert found is not None, f"{place} has an unknown part"
    return found


def fold_of(statement: Put) -> str | None:
    """The operation of a change in the form name = op(name, value), with a value that does not read the name."""
    value = statement.value
    if not isinstance(value, Apply) or value.op not in FOLDS or value.args[0] != Local(statement.name):
        return None
    return None if Local(statement.name) in distinct(value.args[1]) else value.op


def put_in(body: Sequence[Statement]) -> frozenset[str]:
    """The names that get a value somewhere in a body."""
    found = {s.name for s in body if isinstance(s, Put)}
    return frozenset(found).union(*(put_in(s.body) for s in body if isinstance(s, For)))
