"""A graph made ready to run: kernels found, attributes bound, values freed after their last use."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sardonyx._src.errors import EvaluationError, InvalidModel
from sardonyx._src.interp.signature import refuse_counts, takes_containers
from sardonyx._src.interp.steps import Frame, Run, Step, as_value
from sardonyx._src.ir.graph import Function, Graph, Model, Node, Value
from sardonyx._src.ir.walk import captured, location, nodes
from sardonyx._src.ops.api import Evaluated, Kernel, RunLimits, RuntimeValue
from sardonyx._src.ops.bind import Bindings, attributes_of, bound_attributes, kernel_of, schema_of


@dataclass(slots=True)
class NodeCall:
    """The `call` of a kernel."""

    program: Program
    frame: Frame
    version: int
    wanted: tuple[bool, ...]
    limits: RunLimits

    def run(self, graph: Graph, inputs: Sequence[RuntimeValue]) -> list[RuntimeValue]:
        around = self.frame.home(graph)
        return self.program.inner(graph).run(list(map(as_value, inputs)), self.frame.run, around)

    def generator(self, seed: float | None) -> np.random.Generator:
        if seed is None:
            return self.frame.run.generator()
        return np.random.default_rng(int(np.float32(seed).view(np.uint32)))


@dataclass(slots=True)
class Program:
    """A graph with the imports that its nodes go by and, in a function, the attributes of the call.

    `homes`: for each graph among those attributes, the program of the graph around it, by whose imports it goes.
    """

    graph: Graph
    model: Model
    imports: Mapping[str, int]
    bindings: Bindings
    homes: Mapping[Graph, Program] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    constants: dict[Value, RuntimeValue] = field(default_factory=dict)
    subprograms: dict[Graph, Program] = field(default_factory=dict)

    def prepare(self) -> Program:
        """Raises UnsupportedOperator or InvalidModel for a node that cannot be called."""
        self.constants = {v: constant(v) for v in self.graph.initializers.values()}
        self.steps = [step_of(node, self) for node in self.graph.nodes]
        mark_dead(self)
        return self

    def inner(self, graph: Graph) -> Program:
        """The program of a subgraph of one of the nodes."""
        if graph in self.homes:
            return self.homes[graph].inner(graph)
        found = self.subprograms.get(graph)
        if found is None:
            found = Program(graph, self.model, self.imports, self.bindings, self.homes).prepare()
            self.subprograms[graph] = found
        return found

    def run(self, inputs: Sequence[RuntimeValue], run: Run, outer: Frame | None = None) -> list[RuntimeValue]:
        """The outputs for `inputs`, which are for the graph's inputs in order."""
        formals = self.graph.inputs
        if len(inputs) > len(formals):
            what = f"graph {self.graph.name!r} takes {len(formals)} inputs and is given {len(inputs)}"
            raise EvaluationError(what)
        return self.run_in(Frame(dict(self.constants), outer, run), inputs)

    def run_in(self, frame: Frame, inputs: Sequence[RuntimeValue]) -> list[RuntimeValue]:
        frame.values.update(zip(self.graph.inputs, inputs, strict=False))
        for step in self.steps:
            step.execute(frame)
        return [frame[value] for value in self.graph.outputs]


def constant(value: Value) -> RuntimeValue:
    """The elements of an initializer, which no kernel and no caller may write to."""
    assert value.initializer is not None, f"{value!r} has no tensor"
    elements = value.initializer.numpy().view()
    elements.flags.writeable = False
    return elements


def step_of(node: Node, program: Program) -> Step:
    """The node made ready: as a call of a model-local function, or of an operator's kernel."""
    step = Step(node)
    function = program.model.functions.get((node.domain, node.op_type, node.overload))
    if function is not None:
        bind_function(step, function, program)
    else:
        bind_kernel(step, program)
    return step


def bind_kernel(step: Step, program: Program) -> None:
    node = step.node
    schema = step.schema = schema_of(node, program.imports)
    refuse_counts(node, schema)
    step.is_strict = takes_containers(schema)
    kernel = kernel_of(node, schema)
    attributes = attributes_of(node, schema, program.bindings)
    taken = step.attributes = taken_attributes(kernel, attributes, node, schema.since_version)
    for attribute in bound_attributes(node, program.bindings).values():
        for graph in attribute.graphs:
            program.inner(graph)
    if not kernel.wants_call:
        step.kernel = kernel.function
        return
    function, wanted = kernel.function, tuple(bool(v.name) for v in node.outputs)

    def call(frame: Frame, inputs: list[RuntimeValue]) -> Evaluated:
        context = NodeCall(program, frame, schema.since_version, wanted, frame.run.limits)
        return function(*inputs, **taken, call=context)

    step.call = call


def taken_attributes(
    kernel: Kernel, attributes: dict[str, object], node: Node, version: int
) -> dict[str, object]:
    """The attributes that the kernel takes; one that it neither takes nor ignores is a fault of the kernel."""
    lost = attributes.keys() - kernel.keywords - kernel.ignores
    assert not lost, f"the kernel of {node.op_type}-{version} does not know of {sorted(lost)}"
    return {name: value for name, value in attributes.items() if name in kernel.keywords}


def bind_function(step: Step, function: Function, program: Program) -> None:
    """A call of a model-local function in a frame of its own (IR.md, "Functions").

    The body is made ready at the first call: functions that nobody calls cost nothing.
    """
    refuse_call(step, function)
    given = bound_attributes(step.node, program.bindings)
    if unknown := given.keys() - function.attributes.keys():
        what = f"function {function.name!r} has no attribute {min(unknown)!r}; it has {sorted(function.attributes)}"
        raise InvalidModel(what, location=location(step.node))
    handed = [graph for attribute in given.values() for graph in attribute.graphs]
    homes = {graph: program.homes.get(graph, program) for graph in handed}
    bindings = {**function.attributes, **given}
    formals = len(function.body.inputs)
    bodies: list[Program] = []

    def call(frame: Frame, inputs: list[RuntimeValue]) -> Evaluated:
        if not bodies:
            body = Program(function.body, program.model, function.opset_imports, bindings, homes)
            bodies.append(body.prepare())
        around = {graph: frame.home(graph) for graph in handed}
        inner = Frame(dict(bodies[0].constants), None, frame.run, around)
        return tuple(bodies[0].run_in(inner, inputs + [None] * (formals - len(inputs))))

    step.call = call


def refuse_call(step: Step, function: Function) -> None:
    """Raises InvalidModel for more inputs or outputs than the function has."""
    for what, given, formals in (
        ("inputs", step.reads, function.body.inputs),
        ("outputs", step.writes, function.body.outputs),
    ):
        if len(given) > len(formals):
            why = f"function {function.name!r} has {len(formals)} {what}, {len(given)} are given"
            raise InvalidModel(why, location=location(step.node))


def refuse_missing_kernels(model: Model) -> None:
    """Raises UnsupportedOperator for an operator without kernel in a function that the main graph may come to call.

    Looks at each body once, however often it is called.
    """
    seen: dict[Function, None] = {}
    bodies = [(model.graph, model.opset_imports)]
    for graph, imports in bodies:
        for node in nodes(graph):
            function = model.functions.get((node.domain, node.op_type, node.overload))
            if function is None:
                kernel_of(node, schema_of(node, imports))
            elif function not in seen:
                seen[function] = None
                bodies.append((function.body, function.opset_imports))


def mark_dead(program: Program) -> None:
    """Notes behind which step each value of the graph's own can be let go."""
    own = {v for step in program.steps for v in step.writes if v is not None}
    own |= set(program.graph.inputs) | set(program.constants)
    seen = set(program.graph.outputs) | set(program.constants)
    for step in reversed(program.steps):
        inside = (captured(g) for g in step.node.subgraphs)
        read = {v for v in itertools.chain(step.reads, step.writes, *inside) if v is not None}
        step.dead = tuple(v for v in read if v in own and v not in seen)
        seen |= read
