"""A graph made ready to run: kernels found, attributes bound, values freed after their last use."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sardonyx.errors import EvaluationError, LimitError, Located, SardonyxError
from sardonyx.ir.graph import Function, Graph, Model, Node, Value
from sardonyx.ir.walk import captured, location
from sardonyx.ops.api import Evaluated, Kernel, RunLimits, RuntimeValue
from sardonyx.ops.bind import Bindings, attributes_of, bound_attributes, kernel_of, schema_of

KERNEL_FAULTS = (
    ValueError,
    IndexError,
    TypeError,
    KeyError,
    OverflowError,
    ZeroDivisionError,
    ArithmeticError,
)


@dataclass(slots=True)
class Frame:
    """The values of one graph while it runs; subgraphs reach the frames around them."""

    values: dict[Value, RuntimeValue]
    outer: Frame | None
    run: Run

    def __getitem__(self, value: Value) -> RuntimeValue:
        frame: Frame | None = self
        while frame is not None:
            if value in frame.values:
                return frame.values[value]
            frame = frame.outer
        raise AssertionError(f"{value!r} has no value where it is read")


@dataclass(slots=True)
class Run:
    """What lasts for one run of a model."""

    limits: RunLimits
    rng: np.random.Generator
    observe: Callable[[Node, Sequence[RuntimeValue]], None] | None = None
    nodes: int = 0

    def count(self) -> None:
        self.nodes += 1
        if self.nodes > self.limits.nodes:
            raise LimitError(f"one run has called {self.limits.nodes} nodes", limit="limits.nodes")


@dataclass(slots=True)
class NodeCall:
    """The `call` of a kernel."""

    step: Step
    frame: Frame
    version: int
    wanted: tuple[bool, ...]
    limits: RunLimits

    def run(self, graph: Graph, inputs: Sequence[RuntimeValue]) -> list[RuntimeValue]:
        return self.step.program.inner(graph).run(list(map(as_value, inputs)), self.frame.run, self.frame)

    def generator(self, seed: float | None) -> np.random.Generator:
        if seed is None:
            return self.frame.run.rng
        return np.random.default_rng(int(np.float32(seed).view(np.uint32)))


@dataclass(slots=True)
class Step:
    """One node, ready to be called."""

    node: Node
    program: Program
    call: Callable[[Frame, list[RuntimeValue]], Evaluated]
    dead: tuple[Value, ...] = ()  # values of this frame that nobody reads afterwards

    def execute(self, frame: Frame) -> None:
        run, node = frame.run, self.node
        run.count()
        inputs = [None if v is None else frame[v] for v in node.inputs]
        while inputs and node.inputs[len(inputs) - 1] is None:
            inputs.pop()  # an input left out at the end is the same as one that is not there
        results = self.results(self.call_located(frame, inputs))
        for value, result in zip(node.outputs, results, strict=False):
            if value.name:
                frame.values[value] = result
        if run.observe is not None:
            run.observe(node, results)
        for value in self.dead:
            frame.values.pop(value, None)  # absent when a subgraph was given fewer inputs than it lists

    def call_located(self, frame: Frame, inputs: list[RuntimeValue]) -> Evaluated:
        try:
            return self.call(frame, inputs)
        except Located as error:
            if error.location:
                raise
            raise type(error)(error.why, location=location(self.node)) from error
        except SardonyxError:
            raise
        except MemoryError as error:
            raise LimitError(f"{location(self.node)}: out of memory", limit="limits.bytes") from error
        except KERNEL_FAULTS as error:
            shapes = ", ".join(described(x) for x in inputs)
            raise EvaluationError(f"{error} (inputs: {shapes})", location=location(self.node)) from error

    def results(self, result: Evaluated) -> Sequence[RuntimeValue]:
        results = result if isinstance(result, tuple) else (result,)
        wanted = max((i + 1 for i, v in enumerate(self.node.outputs) if v.name), default=0)
        assert len(results) >= wanted, f"{self.node!r} gave {len(results)} of {wanted} outputs"
        return list(map(as_value, results))


def as_value(value: RuntimeValue | np.generic) -> RuntimeValue:
    """A run-time value of what a kernel handed out: NumPy makes numbers of arrays without axes."""
    return np.asarray(value) if isinstance(value, np.generic) else value


def described(value: RuntimeValue) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    return "none" if value is None else type(value).__name__


@dataclass(slots=True)
class Program:
    """A graph with the imports that its nodes go by and, in a function, the attributes of the call."""

    graph: Graph
    model: Model
    imports: Mapping[str, int]
    bindings: Bindings
    steps: list[Step] = field(default_factory=list)
    constants: dict[Value, RuntimeValue] = field(default_factory=dict)
    subprograms: dict[Graph, Program] = field(default_factory=dict)

    @classmethod
    def of(
        cls, graph: Graph, model: Model, imports: Mapping[str, int], bindings: Bindings | None = None
    ) -> Program:
        """Raises UnsupportedOperator or InvalidModel for a node that cannot be called."""
        program = cls(graph, model, imports, bindings or {})
        program.constants = {v: constant(v) for v in graph.initializers.values()}
        program.steps = [step_of(node, program) for node in graph.nodes]
        mark_dead(program)
        return program

    def inner(self, graph: Graph) -> Program:
        """The program of a subgraph of one of the nodes."""
        found = self.subprograms.get(graph)
        if found is None:
            found = self.subprograms[graph] = Program.of(graph, self.model, self.imports, self.bindings)
        return found

    def run(self, inputs: Sequence[RuntimeValue], run: Run, outer: Frame | None = None) -> list[RuntimeValue]:
        """The outputs for `inputs`, which are for the graph's inputs in order."""
        frame = Frame(dict(self.constants), outer, run)
        if len(inputs) > len(self.graph.inputs):
            what = (
                f"graph {self.graph.name!r} takes {len(self.graph.inputs)} inputs and is given {len(inputs)}"
            )
            raise EvaluationError(what)
        frame.values.update(zip(self.graph.inputs, inputs, strict=False))
        for step in self.steps:
            step.execute(frame)
        return [frame[value] for value in self.graph.outputs]


def constant(value: Value) -> RuntimeValue:
    assert value.initializer is not None, f"{value!r} has no tensor"
    return value.initializer.numpy()


def step_of(node: Node, program: Program) -> Step:
    """The node made ready: as a call of a model-local function, or of an operator's kernel."""
    key = (node.domain, node.op_type, node.overload)
    function = program.model.functions.get(key)
    step = Step(node, program, lambda frame, inputs: ())
    step.call = function_call(node, function, program) if function else kernel_call(node, step, program)
    return step


def kernel_call(node: Node, step: Step, program: Program) -> Callable[[Frame, list[RuntimeValue]], Evaluated]:
    schema = schema_of(node, program.imports)
    kernel = kernel_of(node, schema)
    attributes = attributes_of(node, schema, program.bindings)
    taken = taken_attributes(kernel, attributes, node, schema.since_version)
    for graph in (g for a in bound_attributes(node, program.bindings).values() for g in a.graphs):
        program.inner(graph)
    function = kernel.function
    if not kernel.wants_call:
        return lambda frame, inputs: function(*inputs, **taken)
    wanted = tuple(bool(v.name) for v in node.outputs)

    def call(frame: Frame, inputs: list[RuntimeValue]) -> Evaluated:
        context = NodeCall(step, frame, schema.since_version, wanted, frame.run.limits)
        return function(*inputs, **taken, call=context)

    return call


def taken_attributes(
    kernel: Kernel, attributes: dict[str, object], node: Node, version: int
) -> dict[str, object]:
    """The attributes that the kernel takes; one that it neither takes nor ignores is a fault of the kernel."""
    lost = attributes.keys() - kernel.keywords - kernel.ignores
    assert not lost, f"the kernel of {node.op_type}-{version} does not know of {sorted(lost)}"
    return {name: value for name, value in attributes.items() if name in kernel.keywords}


def function_call(
    node: Node, function: Function, program: Program
) -> Callable[[Frame, list[RuntimeValue]], Evaluated]:
    """A call of a model-local function in a frame of its own (IR.md, "Functions").

    The body is made ready at the first call: functions that nobody calls cost nothing.
    """
    given = bound_attributes(node, program.bindings)
    unknown = given.keys() - function.attributes.keys()
    if unknown:
        what = f"function {function.name!r} has no attribute {sorted(unknown)[0]!r}; it has {sorted(function.attributes)}"
        raise EvaluationError(what, location=location(node))
    bindings = {**function.attributes, **given}
    bodies: list[Program] = []

    def call(frame: Frame, inputs: list[RuntimeValue]) -> Evaluated:
        if not bodies:
            bodies.append(Program.of(function.body, program.model, function.opset_imports, bindings))
        formals = function.body.inputs
        if len(inputs) > len(formals):
            raise EvaluationError(
                f"function {function.name!r} takes {len(formals)} inputs, {len(inputs)} are given"
            )
        padded = inputs + [None] * (len(formals) - len(inputs))
        return tuple(bodies[0].run(padded, frame.run))

    return call


def mark_dead(program: Program) -> None:
    """Notes behind which step each value of the graph's own can be let go."""
    own = {v for step in program.steps for v in step.node.outputs if v.name}
    own |= set(program.graph.inputs) | set(program.constants)
    seen = set(program.graph.outputs) | set(program.constants)
    for step in reversed(program.steps):
        node = step.node
        inside = (captured(g) for g in node.subgraphs)
        read = {v for v in itertools.chain(node.inputs, node.outputs, *inside) if v is not None and v.name}
        step.dead = tuple(v for v in read if v in own and v not in seen)
        seen |= read
