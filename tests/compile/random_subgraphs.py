"""Random nested Loop, Scan and If nodes in ONNX's text format: carried states, scan outputs and captured values.

All operators are exact, so every engine must compute the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sardonyx._src.ir import Array

DIMS = {"s": "", "v": "3", "m": "N,3", "c": "3,N"}  # the dims of each kind of float values
BINARY, UNARY = ("Add", "Sub", "Max", "Min"), ("Neg", "Abs", "Relu", "Identity")
MAX_DEPTH = 3


@dataclass(frozen=True)
class TypedName:
    """A value in the text, and its kind: a key of `DIMS`, `i` for int64, or `b` for bool."""

    name: str
    kind: str

    @property
    def declaration(self) -> str:
        dtype = {"i": "int64", "b": "bool"}.get(self.kind, "float")
        dims = DIMS.get(self.kind)
        return f"{dtype}[{dims}] {self.name}" if dims else f"{dtype} {self.name}"


@dataclass
class Block:
    """A graph under construction: its nodes, and the values in scope."""

    in_scope: list[TypedName]
    lines: list[str] = field(default_factory=list)


class SubgraphGenerator:
    """Generates the text of a graph from a seed, and feeds for it."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.count = 0

    def generate_text(self) -> str:
        inputs = [TypedName(f"x{kind}", kind) for kind in DIMS] + [
            TypedName("trips", "i"),
            TypedName("on", "b"),
        ]
        block = Block([*inputs, *(TypedName(f"y{kind}", kind) for kind in "vm")])
        parameters = ", ".join(value.declaration for value in block.in_scope)
        for _ in range(2 + self.draw_int(2)):
            self.add_statements(block, 0)
        results = [value for value in block.in_scope[len(inputs) + 2 :] if value.kind in DIMS]
        block.lines += [f"o{i} = Identity({value.name})" for i, value in enumerate(results)]
        declarations = ", ".join(
            TypedName(f"o{i}", value.kind).declaration for i, value in enumerate(results)
        )
        return f"g ({parameters}) => ({declarations}) {{ {'  '.join(block.lines)} }}"

    def generate_feeds(self) -> dict[str, Array]:
        n = self.choose((0, 1, 2, 5))
        shapes = {"xs": (), "xv": (3,), "xm": (n, 3), "xc": (3, n), "yv": (3,), "ym": (n, 3)}
        arrays: dict[str, Array] = {
            name: np.asarray(self.rng.integers(-9, 9, shape), np.float32) for name, shape in shapes.items()
        }
        trips, on = self.choose((0, 1, 2, 3, -1)), self.flip(0.8)
        return {**arrays, "trips": np.array(trips, np.int64), "on": np.array(on)}

    # --- draws -------------------------------------------------------------------------------

    def flip(self, probability: float = 0.5) -> bool:
        return bool(self.rng.random() < probability)

    def draw_int(self, limit: int) -> int:
        return int(self.rng.integers(limit + 1))

    def choose(self, among: Sequence[int]) -> int:
        return int(among[self.draw_int(len(among) - 1)])

    def choose_name(self, *words: str) -> str:
        return words[self.draw_int(len(words) - 1)]

    def pick(self, block: Block, kind: str) -> TypedName:
        """A random value of a kind; recent ones are more likely."""
        candidates = [value for value in block.in_scope if value.kind == kind]
        return candidates[-1 - min(int(self.rng.geometric(0.4)) - 1, len(candidates) - 1)]

    def new_name(self, kind: str) -> TypedName:
        self.count += 1
        return TypedName(f"t{self.count}", kind)

    def add_node(self, block: Block, kind: str, call: str) -> TypedName:
        value = self.new_name(kind)
        block.lines.append(f"{value.name} = {call}")
        block.in_scope.append(value)
        return value

    # --- nodes -------------------------------------------------------------------------------

    def add_statements(self, block: Block, depth: int) -> None:
        for _ in range(1 + self.draw_int(2)):
            if depth < MAX_DEPTH and self.flip(0.45):
                (self.add_loop, self.add_scan, self.add_if)[self.draw_int(2)](block, depth)
            else:
                self.add_operator(block, self.choose_name(*DIMS))

    def add_operator(self, block: Block, kind: str) -> TypedName:
        x = self.pick(block, kind)
        if kind in "mc" and self.flip(0.2):
            other = self.pick(block, "c" if kind == "m" else "m")
            return self.add_node(block, kind, f"Transpose <perm = [1, 0]> ({other.name})")
        if self.flip(0.3):
            return self.add_node(block, kind, f"{self.choose_name(*UNARY)}({x.name})")
        others = {"s": "s", "v": "sv", "m": "svm", "c": "sc"}[kind]
        return self.add_node(
            block,
            kind,
            f"{self.choose_name(*BINARY)}({x.name}, {self.pick(block, self.choose_name(*others)).name})",
        )

    def draw_condition(self, block: Block) -> TypedName:
        if self.flip(0.5):
            return self.pick(block, "b")
        a, b = (self.pick(block, "s") for _ in range(2))
        return self.add_node(block, "b", f"{self.choose_name('Less', 'GreaterOrEqual')}({a.name}, {b.name})")

    def add_result(self, inner: Block, kind: str) -> str:
        """Adds a result to a body, a new value or one in scope, under a new name; returns its declaration."""
        value = self.add_operator(inner, kind) if self.flip(0.6) else self.pick(inner, kind)
        result = self.new_name(kind)
        inner.lines.append(f"{result.name} = Identity({value.name})")
        return result.declaration

    def draw_kinds(self, limit: int) -> list[str]:
        return [self.choose_name(*DIMS) for _ in range(self.draw_int(limit))]

    def add_loop(self, block: Block, depth: int) -> None:
        states, elements = self.draw_kinds(3), self.draw_kinds(2)
        initial = [self.pick(block, kind) for kind in states]
        iteration, is_running = self.new_name("i"), self.new_name("b")
        formals = [self.new_name(kind) for kind in states]
        has_trips = self.flip(0.8)
        start = self.draw_condition(block).name if self.flip(0.3) else ""
        inner = Block([*block.in_scope, iteration, is_running, *formals])
        self.add_statements(inner, depth + 1)
        continues = self.new_name("b")
        inner.lines.append(
            f"{continues.name} = {self.draw_loop_condition(inner, iteration, is_running, must_exit=not has_trips)}"
        )
        start = start or ("" if has_trips else "on")
        results = [continues.declaration, *(self.add_result(inner, kind) for kind in (*states, *elements))]
        trips = self.draw_trip_count(block) if has_trips else ""
        operands = ", ".join((trips, start, *(value.name for value in initial)))
        body = self.format_body([iteration, is_running, *formals], results, inner)
        self.add_control_node(block, states, elements, "Loop", f"body = {body}", operands)

    def draw_loop_condition(
        self, inner: Block, iteration: TypedName, is_running: TypedName, *, must_exit: bool
    ) -> str:
        if must_exit or self.flip(0.3):
            limit = self.new_name("i")
            inner.lines.append(f"{limit.name} = Constant <value = int64 {{{self.draw_int(3)}}}> ()")
            return f"Less({iteration.name}, {limit.name})"
        if self.flip(0.3):
            return "Constant <value = bool {1}> ()"
        return f"Identity({(is_running if self.flip() else self.pick(inner, 'b')).name})"

    def draw_trip_count(self, block: Block) -> str:
        if self.flip(0.4):
            return "trips"
        limit = self.new_name("i")
        block.lines.append(f"{limit.name} = Constant <value = int64 {{{self.draw_int(3)}}}> ()")
        if self.flip():
            return limit.name
        size, smaller = self.new_name("i"), self.new_name("i")
        block.lines += [f"{size.name} = Size(xm)", f"{smaller.name} = Min({size.name}, {limit.name})"]
        return smaller.name

    def add_scan(self, block: Block, depth: int) -> None:
        states, elements = self.draw_kinds(2), self.draw_kinds(2)
        initial = [self.pick(block, kind) for kind in states]
        sequences = [
            self.pick(block, "m" if kind == "v" else "v") for kind in self.choose_name("v", "vv", "s")
        ]
        formals = [self.new_name(kind) for kind in states]
        slices = [self.new_name("v" if value.kind == "m" else "s") for value in sequences]
        inner = Block([*block.in_scope, *formals, *slices])
        self.add_statements(inner, depth + 1)
        results = [self.add_result(inner, kind) for kind in (*states, *elements)]
        body = self.format_body([*formals, *slices], results, inner)
        attributes = [f"num_scan_inputs = {len(sequences)}", f"body = {body}"]
        directions = [self.draw_int(1) for _ in sequences]
        attributes += [f"scan_input_directions = {directions}", f"scan_input_axes = {[0] * len(sequences)}"]
        if elements:
            attributes.append(f"scan_output_directions = {[self.draw_int(1) for _ in elements]}")
            attributes.append(
                f"scan_output_axes = {[self.draw_int(len(DIMS[kind].split(',')) if DIMS[kind] else 0) for kind in elements]}"
            )
        operands = ", ".join(value.name for value in (*initial, *sequences))
        self.add_control_node(block, states, elements, "Scan", ", ".join(attributes), operands)

    def add_if(self, block: Block, depth: int) -> None:
        kinds, condition = self.draw_kinds(2) or ["v"], self.draw_condition(block)
        branches = []
        for name in ("then_branch", "else_branch"):
            inner = Block([*block.in_scope])
            if self.flip(0.7):
                self.add_statements(inner, depth + 1)
            results = [self.add_result(inner, kind) for kind in kinds]
            branches.append(f"{name} = {self.format_body([], results, inner)}")
        self.add_control_node(block, kinds, [], "If", ", ".join(branches), condition.name)

    def format_body(self, formals: Sequence[TypedName], results: Sequence[str], inner: Block) -> str:
        self.count += 1
        parameters = ", ".join(value.declaration for value in formals)
        return f"g{self.count} ({parameters}) => ({', '.join(results)}) {{ {'  '.join(inner.lines)} }}"

    def add_control_node(
        self,
        block: Block,
        states: Sequence[str],
        elements: Sequence[str],
        op_type: str,
        attributes: str,
        operands: str,
    ) -> None:
        results = [self.new_name(kind) for kind in states]
        scan_outputs = [self.new_name("stack") for _ in elements]
        if not results and not scan_outputs:
            return
        names = ", ".join(value.name for value in (*results, *scan_outputs))
        block.lines.append(f"{names} = {op_type} <{attributes}> ({operands})")
        block.in_scope += results
        for value, kind in zip(scan_outputs, elements, strict=True):
            maximum = self.add_node(
                block, "s", f"ReduceMax <keepdims = 0> ({self.add_padding(block, value)})"
            )
            assert maximum.kind == "s", kind

    def add_padding(self, block: Block, value: TypedName) -> str:
        """Concatenates a constant and the elements of a scan output, so that the maximum exists; returns the name."""
        flat, padding, result = (self.new_name("row") for _ in range(3))
        block.lines += [
            f"{flat.name}d = Constant <value = int64[1] {{-1}}> ()",
            f"{flat.name} = Reshape({value.name}, {flat.name}d)",
            f"{padding.name} = Constant <value = float[1] {{-100}}> ()",
            f"{result.name} = Concat <axis = 0> ({padding.name}, {flat.name})",
        ]
        return result.name
