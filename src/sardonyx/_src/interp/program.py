"""Interpreter programs: graphs with kernels looked up, attributes bound and last uses of values marked."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import InitVar, field
from functools import partial
from typing import NamedTuple

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InvalidModel, LimitError
from sardonyx._src.interp.calls import execute_body
from sardonyx._src.interp.run_memory import UNLIMITED
from sardonyx._src.interp.run_state import Frame, RunState, reseeded_state, seeded_state
from sardonyx._src.interp.signature import check_counts
from sardonyx._src.interp.steps import CalledBody, IdentityStep, NodeStep, as_value, is_identity
from sardonyx._src.interp.unrun_subgraphs import UnrunSubgraph
from sardonyx._src.ir import Function, Graph, Model, Node, SparseTensor, Type, Value
from sardonyx._src.ir.call_counts import count_calls
from sardonyx._src.ir.parameters import bind_parameters
from sardonyx._src.ir.references import Bindings, bound_attributes
from sardonyx._src.ir.walk import captures, graphs, location, nodes, roots
from sardonyx._src.ops.api import (
    Eval,
    Evaluated,
    GraphCall,
    Operator,
    ReferenceKernel,
    RunLimits,
    RuntimeValue,
    as_plain_value,
    tensor_type,
)
from sardonyx._src.ops.bind import (
    attributes_of,
    body_operator,
    check_attribute_values,
    check_runnable,
    kernel_of,
    schema_of,
)
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.registry import SPECIFIED_DOMAINS
from sardonyx._src.schema import OpSchema

MAX_BODIES = 64  # bodies that are kept of one node, one for each combination of input types


@dataclass(slots=True)
class NodeRunContext:
    """The argument `context` of a kernel: what it can see of its run (`ops.api` defines the protocol)."""

    program: InterpreterProgram
    frame: Frame
    version: int
    requested_outputs: tuple[bool, ...]
    limits: RunLimits
    has_subgraphs: bool  # whose nodes may draw numbers while the kernel draws its own

    def bind(self, graph: Graph) -> GraphCall:
        call = self.program.inner(graph).bind(self.frame.run, self.frame.defining_frame(graph))

        def call_with_values(inputs: Sequence[RuntimeValue]) -> list[RuntimeValue]:
            # A kernel may pass an element of a vector, which is a NumPy scalar, not an array.
            return call([x if type(x) is np.ndarray else as_value(x) for x in inputs])

        return call_with_values

    def output_types(self, graph: Graph, arguments: Sequence[Type | None]) -> list[Type | None]:
        return self.program.inner(graph).output_types(arguments, self.frame.defining_frame(graph))

    def check(self) -> None:
        self.frame.run.control.check()

    @property
    def available_bytes(self) -> int:
        return self.frame.run.memory.available

    def random_state(self, seed: int | float | None) -> np.random.RandomState:
        if seed is None:
            return self.frame.run.random_source()
        return seeded_state(seed) if self.has_subgraphs else reseeded_state(seed)


@dataclass(slots=True)
class FunctionBodies:
    """The functions of a model, shared by all its programs.

    programs: the programs of functions without attributes, which are the same for all calls.
    calls: the least number of nodes that a call of each function executes; see `count_calls`.
    """

    model: Model
    programs: dict[Function, InterpreterProgram] = field(default_factory=dict)
    calls: Mapping[Function, int] = field(init=False)

    def __post_init__(self) -> None:
        self.calls = count_calls(self.model)


class BoundOperator(NamedTuple):
    """An operator in the imported version: its kernel, or the operator whose body is called."""

    schema: OpSchema
    definition: ReferenceKernel | Operator


@dataclass(slots=True)
class InterpreterProgram:
    """A graph, prepared for any number of runs.

    imports: the operator-set imports of the model or function.
    bindings: in the body of a function, the attributes of the call.
    scopes: the defining program of each subgraph that was passed as an attribute.
    steps: the nodes in execution order, each with its kernel.
    constants: the elements of the initializers.
    captured: the values of enclosing graphs that the graph reads.
    subprograms: the programs of subgraphs, prepared so far.
    calls_functions: whether a step calls a function of the model.
    operators: the operators of the nodes, by domain and name.
    unrun: infers the types of the outputs if the graph is never executed.
    """

    graph: Graph
    model: Model
    imports: Mapping[str, int]
    bindings: Bindings
    scopes: Mapping[Graph, InterpreterProgram] = field(default_factory=dict)
    steps: list[NodeStep] = field(default_factory=list)
    constants: dict[Value, RuntimeValue] = field(default_factory=dict)
    captured: Sequence[Value] = ()
    subprograms: dict[Graph, InterpreterProgram] = field(default_factory=dict)
    calls_functions: bool = False
    operators: dict[tuple[str, str], BoundOperator] = field(default_factory=dict)
    unrun: UnrunSubgraph = field(init=False)
    shared: InitVar[FunctionBodies | None] = None
    functions: FunctionBodies = field(init=False)

    def __post_init__(self, shared: FunctionBodies | None) -> None:
        """shared: the functions of the enclosing program; None for the program of a whole model."""
        self.functions = shared or FunctionBodies(self.model)
        self.unrun = UnrunSubgraph(self.graph, self.model, self.imports, self.bindings)

    def prepare(self) -> InterpreterProgram:
        """Binds all nodes; raises UnsupportedOperator or InvalidModel for a node that cannot be called."""
        self.constants = {v: constant_value(v) for v in self.graph.initializers.values()}
        self.captured = () if self.graph.parent is None else captures(self.graph)
        self.steps = [step_of(node, self) for node in self.graph.nodes]
        self.calls_functions = any(step.enter is not None for step in self.steps)
        mark_last_uses(self)
        return self

    def bind_operator(self, node: Node) -> BoundOperator:
        """The operator of a node under the imports; raises UnsupportedOperator if there is none that can be called."""
        schema = schema_of(node, self.imports)
        bound = BoundOperator(schema, body_operator(node, schema) or kernel_of(node, schema))
        self.operators[node.domain, node.op_type] = bound
        return bound

    def inner(self, graph: Graph) -> InterpreterProgram:
        """The program of a subgraph of one of the nodes."""
        if graph in self.scopes:
            return self.scopes[graph].inner(graph)
        program = self.subprograms.get(graph)
        if program is None:
            program = InterpreterProgram(
                graph, self.model, self.imports, self.bindings, self.scopes, shared=self.functions
            ).prepare()
            self.subprograms[graph] = program
        return program

    def bind(self, run: RunState, outer: Frame | None = None) -> GraphCall:
        """The graph as a function of its inputs, the last of which may be left out.

        It may be called any number of times in one run, as long as the values of enclosing graphs stay the same.
        """
        known = self.constants if outer is None else self.constants | outer.find(self.captured)
        frame = Frame(known, outer, run)

        def call(inputs: Sequence[RuntimeValue]) -> list[RuntimeValue]:
            frame.values = known.copy()
            return self.run_in(frame, inputs)

        return call

    def output_types(self, arguments: Sequence[Type | None], outer: Frame) -> list[Type | None]:
        """The types that the outputs would have in a call with arguments of these types; None: not known."""
        return self.unrun.output_types(arguments, outer)

    def run_in(self, frame: Frame, inputs: Sequence[RuntimeValue]) -> list[RuntimeValue]:
        """The outputs.  frame: a frame with the constants and captured values, and no other values yet."""
        if self.calls_functions:
            body = self.enter(frame, inputs)
            execute_body(body)
            return body.results()
        values = frame.values
        values.update(zip(self.graph.inputs, inputs, strict=False))
        if frame.run.observe_inputs is not None:
            frame.run.observe_inputs(self.graph, inputs)
        for step in self.steps:
            step.execute(frame)
        return [values[value] if value in values else frame[value] for value in self.graph.outputs]

    def enter(self, frame: Frame, inputs: Sequence[RuntimeValue]) -> CalledBody:
        """Stores the inputs in the frame, and returns the graph as a body that `execute_body` can execute."""
        frame.values.update(zip(self.graph.inputs, inputs, strict=False))
        if frame.run.observe_inputs is not None:
            frame.run.observe_inputs(self.graph, inputs)
        return CalledBody(frame, self.steps, self.graph.outputs)


def constant_value(value: Value) -> RuntimeValue:
    """The elements of an initializer, as a read-only array.

    The dense size of sparse initializers is not limited here, since `check_sparse_initializers` has limited it.
    """
    assert value.initializer is not None, f"{value!r} has no tensor"
    tensor = value.initializer
    elements = (tensor.numpy(UNLIMITED) if isinstance(tensor, SparseTensor) else tensor.numpy()).view()
    elements.flags.writeable = False
    return elements


def step_of(node: Node, program: InterpreterProgram) -> NodeStep:
    """The node bound to the model-local function that it calls, or to the kernel of its operator."""
    function = program.model.functions.get((node.domain, node.op_type, node.overload))
    needs_no_kernel = function is None and is_identity(node, program.imports)
    step = IdentityStep(node) if needs_no_kernel else NodeStep(node)
    if function is not None:
        bind_function(step, function, program)
    else:
        bind_kernel(step, program)
    return step


def bind_kernel(step: NodeStep, program: InterpreterProgram) -> None:
    """Makes the step execute the kernel of its operator, or the operator's body if it has no kernel."""
    node = step.node
    bound = program.operators.get((node.domain, node.op_type)) or program.bind_operator(node)
    schema = step.schema = bound.schema
    step.types = (None,) * len(step.reads)  # equal to no type, so that the first inputs are checked
    check_counts(node, schema)
    if isinstance(kernel := bound.definition, Operator):
        bind_body(step, kernel, schema, program)
        return
    attributes = attributes_of(node, schema, program.bindings)
    keywords = step.attributes = kernel_attributes(kernel, attributes, node, schema.since_version)
    for attribute in bound_attributes(node, program.bindings).values():
        for graph in attribute.graphs:
            program.inner(graph)
    function = kernel.function if node.domain in SPECIFIED_DOMAINS else with_lists(kernel.function)
    if not kernel.wants_context:
        step.kernel = function
        return
    requested, has_subgraphs = tuple(bool(v.name) for v in node.outputs), bool(node.subgraphs)

    def context_of(frame: Frame) -> NodeRunContext:
        return NodeRunContext(
            program, frame, schema.since_version, requested, frame.run.limits, has_subgraphs
        )

    def call(frame: Frame, inputs: list[RuntimeValue]) -> Evaluated:
        return function(*inputs, **keywords, context=context_of(frame))

    step.call = call
    step.bind = lambda frame: partial(function, **keywords, context=context_of(frame))


def with_lists(kernel: Eval) -> Eval:
    """The kernel of a plugin, which receives all sequences as lists."""

    def call(*inputs: RuntimeValue, **attributes: object) -> Evaluated:
        return kernel(*map(as_plain_value, inputs), **attributes)

    return call


def bind_body(step: NodeStep, op: Operator, schema: OpSchema, program: InterpreterProgram) -> None:
    """Makes the step execute the operator's body; one program is prepared for each combination of input types."""
    # Lazy: few operators are run by their bodies, whose texts need a parser.
    from sardonyx._src.ops.function_bodies import body_of

    node = step.node
    attributes = attributes_of(node, schema, program.bindings)
    arguments = bound_attributes(node, program.bindings)
    bodies: dict[tuple[Type | None, ...], InterpreterProgram] = {}

    def call(frame: Frame, inputs: list[RuntimeValue]) -> Evaluated:
        types = tuple(map(tensor_type, inputs))
        if types not in bodies:
            if len(bodies) >= MAX_BODIES:
                bodies.clear()
            given = [value is not None for value in inputs]
            function = body_of(
                op, Inference(node.op_type, schema.since_version, types, given, attributes, len(node.outputs))
            )
            assert function is not None, f"{node!r} has no body"
            bindings = bind_parameters(function, arguments)
            bodies[types] = InterpreterProgram(
                function.body, program.model, function.opset_imports, bindings
            ).prepare()
        body = bodies[types]
        inner = Frame(dict(body.constants), None, frame.run)
        return tuple(body.run_in(inner, inputs + [None] * (len(body.graph.inputs) - len(inputs))))

    step.call = call


def kernel_attributes(
    kernel: ReferenceKernel, attributes: dict[str, object], node: Node, version: int
) -> dict[str, object]:
    """The attributes that are parameters of the kernel; the kernel must declare that it ignores any other."""
    unknown = attributes.keys() - kernel.keywords - kernel.ignores
    assert not unknown, f"the kernel of {node.op_type}-{version} has no parameters {sorted(unknown)}"
    return {name: value for name, value in attributes.items() if name in kernel.keywords}


def bind_function(step: NodeStep, function: Function, program: InterpreterProgram) -> None:
    """Makes the step call a model-local function, in a frame of its own (IR.md, "Functions").

    The body is prepared at the first call, so that unused functions cost nothing.  A call that would exceed the limit of
    nodes is refused before its first node.
    """
    check_call(step, function)
    arguments = bound_attributes(step.node, program.bindings)
    if unknown := arguments.keys() - function.attributes.keys():
        names = sorted(function.attributes)
        what = f"function {function.name!r} has no attribute {min(unknown)!r}; its attributes are {names}"
        raise InvalidModel(what, location=location(step.node))
    subgraphs = [graph for attribute in arguments.values() for graph in attribute.graphs]
    scopes = {graph: program.scopes.get(graph, program) for graph in subgraphs}
    bindings = bind_parameters(function, arguments)
    formals, nodes_called = len(function.body.inputs), program.functions.calls[function]
    programs: dict[Function, InterpreterProgram] = {} if bindings else program.functions.programs

    def prepare(frame: Frame) -> tuple[InterpreterProgram, Frame]:
        frame.run.check_nodes(nodes_called)
        body = programs.get(function)
        if body is None:
            imports, model = function.opset_imports, program.model
            body = InterpreterProgram(
                function.body, model, imports, bindings, scopes, shared=program.functions
            ).prepare()
            programs[function] = body
        frames = {graph: frame.defining_frame(graph) for graph in subgraphs}
        return body, Frame(dict(body.constants), None, frame.run, frames)

    def enter(frame: Frame, inputs: list[RuntimeValue]) -> CalledBody:
        body, inner = prepare(frame)
        return body.enter(inner, inputs + [None] * (formals - len(inputs)))

    def call(frame: Frame, inputs: list[RuntimeValue]) -> Evaluated:
        body, inner = prepare(frame)
        return tuple(body.run_in(inner, inputs + [None] * (formals - len(inputs))))

    step.call, step.enter = call, enter


def check_call(step: NodeStep, function: Function) -> None:
    """Raises InvalidModel for more inputs or outputs than the function has."""
    for what, actuals, formals in (
        ("inputs", step.reads, function.body.inputs),
        ("outputs", step.writes, function.body.outputs),
    ):
        if len(actuals) > len(formals):
            limit = f"function {function.name!r} must be called with at most {len(formals)} {what}"
            raise InvalidModel(f"{limit}; got {len(actuals)}", location=location(step.node))


def check_kernels(model: Model) -> None:
    """Checks the nodes of the main graph and of the functions that it may call.

    Raises UnsupportedOperator for an operator without kernel, and InvalidModel for an attribute value that the operator
    does not list and for a call that omits an input which its function requires.
    """
    from sardonyx._src.infer.omissions import refuse_omissions  # lazy: native runs do not check kernels

    refuse_omissions(model)
    seen: dict[Function, None] = {}
    bodies = [(model.graph, model.opset_imports)]
    for graph, imports in bodies:
        schemas: dict[tuple[str, str], OpSchema] = {}  # of the operators that can be called
        for node in nodes(graph):
            function = model.functions.get((node.domain, node.op_type, node.overload))
            if function is None:
                schema = schemas.get((node.domain, node.op_type))
                if schema is None:
                    schema = schemas[node.domain, node.op_type] = schema_of(node, imports)
                    check_runnable(node, schema)
                check_attribute_values(node, schema)
            elif function not in seen:
                seen[function] = None
                bodies.append((function.body, function.opset_imports))


def check_sparse_initializers(model: Model, max_bytes: int) -> None:
    """Raises LimitError for a sparse initializer that would take more bytes as a dense tensor."""
    for root in roots(model):
        for graph in graphs(root):
            for value in graph.initializers.values():
                tensor = value.initializer
                if isinstance(tensor, SparseTensor) and (size := tensor.dense_nbytes) > max_bytes:
                    what = f"sparse initializer {value.name!r} would take {size} bytes as a dense tensor"
                    raise LimitError(what, limit="limits.bytes")


def mark_last_uses(program: InterpreterProgram) -> None:
    """Sets, for each step, the values of the graph itself, not of enclosing ones, that are last used by this step."""
    own = {v for step in program.steps for v in step.writes if v is not None}
    own |= set(program.graph.inputs) | set(program.constants)
    seen = set(program.graph.outputs) | set(program.constants)
    for step in reversed(program.steps):
        # Bound attributes: graphs that are defaults of attribute parameters read values, too.
        attributes = bound_attributes(step.node, program.bindings).values()
        captured = (captures(g) for attribute in attributes for g in attribute.graphs)
        used = {v for v in itertools.chain(step.reads, step.writes, *captured) if v is not None}
        step.dead = tuple(v for v in used if v in own and v not in seen)
        seen |= used
