"""Subgraphs as native programs: bodies of loops and branches, with the values around them as further inputs.

These are the ones that `compile.control` leaves to the host.  A body is compiled when it is first called, for the element types and ranks that it is called with; sizes are what
inference knows of them.  It stays with the reference engine where little would be saved, and whenever a call is beyond
what was compiled: that engine says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Protocol, TypeAlias

import numpy as np

from sardonyx._src.compile.body import Extract, around, extracted
from sardonyx._src.compile.program import HostCall
from sardonyx._src.compile.program import Program as Compiled
from sardonyx._src.errors import EvaluationError
from sardonyx._src.interp.program import Program
from sardonyx._src.interp.steps import Frame, Run
from sardonyx._src.ir.dims import Expr, Known, evaluate
from sardonyx._src.ir.graph import Graph, Model, Value
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import RuntimeValue

MOST = 8  # compiled forms of a body: further element types and ranks are interpreted
DEEPEST = 4  # levels of graphs in one another
# Nanoseconds, on the machines that we have: of a node that is interpreted, of a call that is native throughout, of one
# that is not, and of what it does on the host.
NODE, CALL, SLOW_CALL, ON_HOST = 2_500, 3_000, 40_000, 15_000
FLOPS, BYTES = 16, 8  # of steps, at least, in a nanosecond that native code saves


class Native(Protocol):
    """What a body needs of a native program."""

    program: Compiled
    can_repeat: bool

    @property
    def has_loops(self) -> bool: ...

    def again(self, feeds: object) -> dict[str, RuntimeValue] | None: ...

    def within(self, feeds: Mapping[str, RuntimeValue], run: Run) -> dict[str, RuntimeValue] | None: ...


Compiler: TypeAlias = Callable[[Model], Native]
Key: TypeAlias = "tuple[tuple[object, int] | type, ...]"


@dataclass(frozen=True, slots=True)
class Form:
    """A body compiled for some types.  nodes: how many of it its native steps stand for."""

    native: Native
    extract: Extract
    nodes: int

    def run(self, values: Sequence[RuntimeValue], run: Run) -> list[RuntimeValue] | None:
        """The results in order; None where the reference engine has to say what comes out."""
        if run.nodes + self.nodes > run.limits.nodes:
            return None
        feeds = dict(zip(self.extract.fed, values, strict=True))
        found = None if self.native.has_loops else self.native.again(feeds)  # which counts no nodes
        if found is None:
            found = self.anew(feeds, run)
        if found is None:
            return None
        run.nodes += self.nodes
        every = {**self.extract.constants, **feeds, **found}
        return [every[name] for name in self.extract.results]

    def anew(self, feeds: dict[str, RuntimeValue], run: Run) -> dict[str, RuntimeValue] | None:
        """The results of a call that need not be like the one before."""
        loose = {n: x for n, x in feeds.items() if isinstance(x, np.ndarray) and not x.flags.c_contiguous}
        if loose:
            feeds.update((name, np.ascontiguousarray(array)) for name, array in loose.items())
            if (found := self.native.again(feeds)) is not None:
                return found
        if sizes(self.native.program, feeds) is None:
            return None
        try:
            return self.native.within(feeds, run)
        except EvaluationError:
            return None  # it names a place in what was compiled


@dataclass(slots=True)
class Body(Program):
    """A graph that runs as a native program where that saves time, if it is a subgraph; so do those inside.

    compiler: makes native programs; None where there is nothing to make them with.
    """

    compiler: Compiler | None = None
    outer: tuple[Value, ...] = ()
    forms: dict[Key, Form | None] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def inner(self, graph: Graph) -> Program:
        if graph in self.homes or graph in self.subprograms:
            return Program.inner(self, graph)
        made = Body(graph, self.model, self.imports, self.bindings, self.homes, compiler=self.compiler)
        made.outer = around(graph)
        return self.subprograms.setdefault(graph, made.prepare())

    def run(self, inputs: Sequence[RuntimeValue], run: Run, outer: Frame | None = None) -> list[RuntimeValue]:
        found = None
        if outer is not None and len(inputs) == len(self.graph.inputs):
            values = [*inputs, *map(outer.__getitem__, self.outer)]
            form = self.form(values)
            found = None if form is None else form.run(values, run)
        if found is not None:
            return found
        if len(inputs) > len(self.graph.inputs):
            return Program.run(self, inputs, run, outer)  # which refuses them
        return self.run_in(Frame(dict(self.constants), outer, run), inputs)  # the stack is short of frames

    def form(self, values: Sequence[RuntimeValue]) -> Form | None:
        """The body for values of these types; None if it is to be interpreted."""
        if self.compiler is None:
            return None
        key = tuple((x.dtype, x.ndim) if isinstance(x, np.ndarray) else type(x) for x in values)
        if key not in self.forms:
            with self.lock:
                if key not in self.forms and len(self.forms) < MOST:
                    self.forms[key] = compiled(self.graph, self.model, values, self.compiler)
        return self.forms.get(key)


def compiled(graph: Graph, model: Model, values: Sequence[RuntimeValue], compiler: Compiler) -> Form | None:
    """A body for values like these; None if little would be saved, or it has too much inside to be compiled again."""
    if is_deep(graph):
        return None
    extract = extracted(graph, model, values)
    native = compiler(extract.model)
    calls = [action.node for action in native.program.actions if isinstance(action, HostCall)]
    form = Form(native, extract, max(len(graph.nodes) - len(calls), 0))
    lengths = sizes(native.program, dict(zip(extract.fed, values, strict=True)))
    on_host = len(native.program.actions) - len(native.program.steps)
    is_quick = native.can_repeat and not grows(form, graph)
    costs = CALL if is_quick else SLOW_CALL + ON_HOST * on_host
    return form if lengths is not None and saves(form, lengths, costs) else None


def grows(form: Form, graph: Graph) -> bool:
    """Whether an iteration of Loop adds to the sizes of what it carries, so that each call has new ones."""
    if graph.parent is None or graph.parent.op_type != "Loop":
        return False
    before = {value.name: tensor.shape for value, tensor in form.native.program.inputs.items()}
    after = {v.name: tensor.shape for v, tensor in form.native.program.outputs.items() if tensor is not None}
    pairs = zip(form.extract.fed[2:], form.extract.results[1:], strict=False)
    return any(
        adds(old, new)
        for a, b in pairs
        for old, new in zip(before.get(a, ()), after.get(b, ()), strict=False)
    )


def adds(old: Known, new: Known) -> bool:
    """Whether a size is an earlier one and more, or less, that does not depend on it."""
    more = new - old
    symbols = more.symbols() if isinstance(more, Expr) else frozenset()
    return more != 0 and isinstance(old, Expr) and symbols.isdisjoint(old.symbols())


def is_deep(graph: Graph) -> bool:
    """Whether graphs are nested in it so deep that compiling each of them with all inside takes too long."""
    level = [graph]
    for _ in range(DEEPEST):
        level = [inner for one in level for node in one.nodes for inner in node.subgraphs]
    return bool(level)


def saves(form: Form, lengths: Mapping[str, int], costs: float) -> bool:
    """Whether a call of a body, which costs so many nanoseconds, is quicker than its interpretation."""
    steps = form.native.program.steps
    work = sum((evaluate(s.flops, lengths) or 0) / FLOPS for s in steps)
    work += sum((evaluate(s.traffic, lengths) or 0) / BYTES for s in steps)
    return NODE * form.nodes + work > costs


def sizes(program: Compiled, feeds: Mapping[str, RuntimeValue]) -> dict[str, int] | None:
    """The lengths that symbols stand for; None for feeds of sizes that contradict the types of a program's inputs."""
    found: dict[str, int] = {}
    for value in program.model.graph.inputs:
        fed = feeds[value.name]
        if isinstance(value.type, TensorType) and value.type.shape is not None:
            assert isinstance(fed, np.ndarray), f"{value!r} is no tensor"
            for dim, size in zip(value.type.shape, fed.shape, strict=True):
                if isinstance(dim, Expr):
                    (name,) = dim.symbols()
                    dim = found.setdefault(name, size)
                if dim != size:
                    return None
    return found
