"""Loops, scans and branches in one another, made by chance: what bodies carry, swap, hand on, collect and look at.

All operators are such that every engine has to make the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sardonyx._src.ir.tensors import Array

DIMS = {"s": "", "v": "3", "m": "N,3", "c": "3,N"}  # classes of float values
TWO, ONE = ("Add", "Sub", "Max", "Min"), ("Neg", "Abs", "Relu", "Identity")
DEEPEST = 3


@dataclass(frozen=True)
class Named:
    """A value of the text, and its class: one of `DIMS`, `i` for int64, `b` for bool."""

    name: str
    of: str

    @property
    def declared(self) -> str:
        word = {"i": "int64", "b": "bool"}.get(self.of, "float")
        dims = DIMS.get(self.of)
        return f"{word}[{dims}] {self.name}" if dims else f"{word} {self.name}"


@dataclass
class Block:
    """A graph on its way: its nodes, and what is in its reach."""

    known: list[Named]
    lines: list[str] = field(default_factory=list)


class Bodies:
    """The text of a graph from one seed."""

    def __init__(self, seed: int) -> None:
        self.chance = np.random.default_rng(seed)
        self.count = 0

    def text(self) -> str:
        inputs = [Named(f"x{of}", of) for of in DIMS] + [Named("trips", "i"), Named("on", "b")]
        block = Block([*inputs, *(Named(f"y{of}", of) for of in "vm")])
        given = ", ".join(one.declared for one in block.known)
        for _ in range(2 + self.up_to(2)):
            self.statements(block, 0)
        made = [one for one in block.known[len(inputs) + 2 :] if one.of in DIMS]
        block.lines += [f"o{i} = Identity({one.name})" for i, one in enumerate(made)]
        results = ", ".join(Named(f"o{i}", one.of).declared for i, one in enumerate(made))
        return f"g ({given}) => ({results}) {{ {'  '.join(block.lines)} }}"

    def feeds(self) -> dict[str, Array]:
        n = self.one((0, 1, 2, 5))
        shapes = {"xs": (), "xv": (3,), "xm": (n, 3), "xc": (3, n), "yv": (3,), "ym": (n, 3)}
        found: dict[str, Array] = {
            name: np.asarray(self.chance.integers(-9, 9, shape), np.float32) for name, shape in shapes.items()
        }
        trips, on = self.one((0, 1, 2, 3, -1)), self.coin(0.8)
        return {**found, "trips": np.array(trips, np.int64), "on": np.array(on)}

    # --- draws -------------------------------------------------------------------------------

    def coin(self, probability: float = 0.5) -> bool:
        return bool(self.chance.random() < probability)

    def up_to(self, most: int) -> int:
        return int(self.chance.integers(most + 1))

    def one(self, among: Sequence[int]) -> int:
        return int(among[self.up_to(len(among) - 1)])

    def word(self, *words: str) -> str:
        return words[self.up_to(len(words) - 1)]

    def pick(self, block: Block, of: str) -> Named:
        """A value of a class, late ones more often."""
        found = [one for one in block.known if one.of == of]
        return found[-1 - min(int(self.chance.geometric(0.4)) - 1, len(found) - 1)]

    def fresh(self, of: str) -> Named:
        self.count += 1
        return Named(f"t{self.count}", of)

    def put(self, block: Block, of: str, call: str) -> Named:
        made = self.fresh(of)
        block.lines.append(f"{made.name} = {call}")
        block.known.append(made)
        return made

    # --- nodes -------------------------------------------------------------------------------

    def statements(self, block: Block, depth: int) -> None:
        for _ in range(1 + self.up_to(2)):
            if depth < DEEPEST and self.coin(0.45):
                (self.loop, self.scan, self.branch)[self.up_to(2)](block, depth)
            else:
                self.plain(block, self.word(*DIMS))

    def plain(self, block: Block, of: str) -> Named:
        x = self.pick(block, of)
        if of in "mc" and self.coin(0.2):
            other = self.pick(block, "c" if of == "m" else "m")
            return self.put(block, of, f"Transpose <perm = [1, 0]> ({other.name})")
        if self.coin(0.3):
            return self.put(block, of, f"{self.word(*ONE)}({x.name})")
        others = {"s": "s", "v": "sv", "m": "svm", "c": "sc"}[of]
        return self.put(
            block, of, f"{self.word(*TWO)}({x.name}, {self.pick(block, self.word(*others)).name})"
        )

    def truth(self, block: Block) -> Named:
        if self.coin(0.5):
            return self.pick(block, "b")
        a, b = (self.pick(block, "s") for _ in range(2))
        return self.put(block, "b", f"{self.word('Less', 'GreaterOrEqual')}({a.name}, {b.name})")

    def result(self, inner: Block, of: str) -> str:
        """A result of a body: new, or whatever is in reach; it has a name of its own."""
        found = self.plain(inner, of) if self.coin(0.6) else self.pick(inner, of)
        made = self.fresh(of)
        inner.lines.append(f"{made.name} = Identity({found.name})")
        return made.declared

    def classes(self, most: int) -> list[str]:
        return [self.word(*DIMS) for _ in range(self.up_to(most))]

    def loop(self, block: Block, depth: int) -> None:
        states, elements = self.classes(3), self.classes(2)
        initial = [self.pick(block, of) for of in states]
        number, going = self.fresh("i"), self.fresh("b")
        formals = [self.fresh(of) for of in states]
        has_trips = self.coin(0.8)
        start = self.truth(block).name if self.coin(0.3) else ""
        inner = Block([*block.known, number, going, *formals])
        self.statements(inner, depth + 1)
        goes = self.fresh("b")
        inner.lines.append(f"{goes.name} = {self.condition(inner, number, going, ends=not has_trips)}")
        start = start or ("" if has_trips else "on")
        results = [goes.declared, *(self.result(inner, of) for of in (*states, *elements))]
        trips = self.trips(block) if has_trips else ""
        given = ", ".join((trips, start, *(one.name for one in initial)))
        body = self.body([number, going, *formals], results, inner)
        self.node(block, states, elements, "Loop", f"body = {body}", given)

    def condition(self, inner: Block, number: Named, going: Named, *, ends: bool) -> str:
        if ends or self.coin(0.3):
            most = self.fresh("i")
            inner.lines.append(f"{most.name} = Constant <value = int64 {{{self.up_to(3)}}}> ()")
            return f"Less({number.name}, {most.name})"
        if self.coin(0.3):
            return "Constant <value = bool {1}> ()"
        return f"Identity({(going if self.coin() else self.pick(inner, 'b')).name})"

    def trips(self, block: Block) -> str:
        if self.coin(0.4):
            return "trips"
        made = self.fresh("i")
        block.lines.append(f"{made.name} = Constant <value = int64 {{{self.up_to(3)}}}> ()")
        if self.coin():
            return made.name
        size, least = self.fresh("i"), self.fresh("i")
        block.lines += [f"{size.name} = Size(xm)", f"{least.name} = Min({size.name}, {made.name})"]
        return least.name

    def scan(self, block: Block, depth: int) -> None:
        states, elements = self.classes(2), self.classes(2)
        initial = [self.pick(block, of) for of in states]
        whole = [self.pick(block, "m" if of == "v" else "v") for of in self.word("v", "vv", "s")]
        formals = [self.fresh(of) for of in states]
        slices = [self.fresh("v" if one.of == "m" else "s") for one in whole]
        inner = Block([*block.known, *formals, *slices])
        self.statements(inner, depth + 1)
        results = [self.result(inner, of) for of in (*states, *elements)]
        body = self.body([*formals, *slices], results, inner)
        how = [f"num_scan_inputs = {len(whole)}", f"body = {body}"]
        back = [self.up_to(1) for _ in whole]
        how += [f"scan_input_directions = {back}", f"scan_input_axes = {[0] * len(whole)}"]
        if elements:
            how.append(f"scan_output_directions = {[self.up_to(1) for _ in elements]}")
            how.append(
                f"scan_output_axes = {[self.up_to(len(DIMS[of].split(',')) if DIMS[of] else 0) for of in elements]}"
            )
        given = ", ".join(one.name for one in (*initial, *whole))
        self.node(block, states, elements, "Scan", ", ".join(how), given)

    def branch(self, block: Block, depth: int) -> None:
        classes, test = self.classes(2) or ["v"], self.truth(block)
        ways = []
        for name in ("then_branch", "else_branch"):
            inner = Block([*block.known])
            if self.coin(0.7):
                self.statements(inner, depth + 1)
            results = [self.result(inner, of) for of in classes]
            ways.append(f"{name} = {self.body([], results, inner)}")
        self.node(block, classes, [], "If", ", ".join(ways), test.name)

    def body(self, formals: Sequence[Named], results: Sequence[str], inner: Block) -> str:
        self.count += 1
        given = ", ".join(one.declared for one in formals)
        return f"g{self.count} ({given}) => ({', '.join(results)}) {{ {'  '.join(inner.lines)} }}"

    def node(
        self, block: Block, states: Sequence[str], elements: Sequence[str], op_type: str, how: str, given: str
    ) -> None:
        made = [self.fresh(of) for of in states]
        folded = [self.fresh("stack") for _ in elements]
        if not made and not folded:
            return
        names = ", ".join(one.name for one in (*made, *folded))
        block.lines.append(f"{names} = {op_type} <{how}> ({given})")
        block.known += made
        for one, of in zip(folded, elements, strict=True):
            total = self.put(block, "s", f"ReduceMax <keepdims = 0> ({self.padded(block, one)})")
            assert total.of == "s", of

    def padded(self, block: Block, one: Named) -> str:
        """All elements of a stack and one of our own, so that there are some."""
        flat, front, made = (self.fresh("row") for _ in range(3))
        block.lines += [
            f"{flat.name}d = Constant <value = int64[1] {{-1}}> ()",
            f"{flat.name} = Reshape({one.name}, {flat.name}d)",
            f"{front.name} = Constant <value = float[1] {{-100}}> ()",
            f"{made.name} = Concat <axis = 0> ({front.name}, {flat.name})",
        ]
        return made.name
