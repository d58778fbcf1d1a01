"""Native subgraphs: bodies of loops and branches of fallback ops, compiled for the argument types of a call.

Most control flow is lowered into the program itself (`compile.lower.control_flow`).  The nodes that remain fallback ops call
their bodies from a reference kernel.  Such a body is *outlined*: it becomes a model with the inputs of the body and its captured
values as inputs.  The model is compiled at the first call with certain element types and ranks.  The reference engine
interprets a body where native code would save little, and repeats every call that fails a guard, so that errors name the
original nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from threading import Lock
from typing import Protocol, TypeAlias

import numpy as np

from sardonyx._src.compile.prepare.outlining import OutlinedSubgraph, outer_inputs, outline
from sardonyx._src.compile.program.steps.program import FallbackOp, Program
from sardonyx._src.compile.program.verification.defects import typed_defects
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import CompilationError, EvaluationError
from sardonyx._src.interp.program import InterpreterProgram
from sardonyx._src.interp.run_control import RunControl
from sardonyx._src.interp.run_state import Frame, RunState
from sardonyx._src.ir import Graph, Model, TensorType, Type, Value
from sardonyx._src.ir.dims import Expr, Known, evaluate
from sardonyx._src.ops.api import GraphCall
from sardonyx._src.ops.run_values import RuntimeValue
from sardonyx._src.runtime.limits.run_limits import EMPTY_SCAN_OUTPUT, Bailout

MAX_SPECIALIZATIONS = 8  # programs of a subgraph; calls with other element types and ranks are interpreted
TYPE_CHECKS = 16  # an interpreted subgraph tests the types of its arguments at every 16th call
MAX_NESTED_GRAPHS = 4  # levels of nested graphs up to which a subgraph is compiled
# Nanoseconds, measured on x86-64: of an interpreted node; of a call of a program that has only kernel steps; of such a call
# with new sizes; of any other call; and, in such a call, of each action that Python performs.
INTERPRETED_NODE, NATIVE_CALL, RESIZED_CALL, MIXED_CALL, FALLBACK_NODE = 2_500, 3_000, 8_000, 40_000, 15_000
FLOPS_SAVED, BYTES_SAVED = 16, 8  # operations or bytes for which native code saves at least one nanosecond


class SubgraphNative(Protocol):
    """The part of `NativeProgram` that subgraphs use; importing that class here would be circular."""

    program: Program
    has_fast_path: bool
    has_sized_path: bool

    @property
    def has_loops(self) -> bool: ...

    def try_run(
        self,
        feeds: object,
        control: RunControl | None = None,
        out: None = None,
        max_bytes: int | None = None,
    ) -> dict[str, RuntimeValue] | None: ...

    def run_subgraph(
        self, feeds: Mapping[str, RuntimeValue], run: RunState
    ) -> dict[str, RuntimeValue] | None: ...


SubgraphCompiler: TypeAlias = Callable[[Model], SubgraphNative | None]
TypeKey: TypeAlias = "tuple[tuple[object, int] | type, ...]"  # element type and rank of each tensor argument


@dataclass(frozen=True, slots=True)
class CompiledSubgraph:
    """A subgraph compiled for certain element types and ranks.

    native: the program.
    outlined: the subgraph as a model.
    nodes: the number of its nodes that became kernel steps.
    """

    native: SubgraphNative
    outlined: OutlinedSubgraph
    nodes: int

    def run(self, arguments: Sequence[RuntimeValue], run: RunState) -> list[RuntimeValue] | None:
        """The results in order; None where the reference engine must run the call."""
        if run.nodes + self.nodes > run.limits.nodes:
            return None
        feeds = dict(zip(self.outlined.inputs, arguments, strict=True))
        # The fast path does not count the nodes that loops execute, which `run.limits.nodes` bounds.
        outputs = None if self.native.has_loops else self.try_run(feeds, run)
        if outputs is None:
            outputs = self.run_slow(feeds, run)
        if outputs is None:
            return None
        run.nodes += self.nodes
        values = {**self.outlined.constants, **feeds, **outputs}
        return [values[name] for name in self.outlined.results]

    def try_run(self, feeds: dict[str, RuntimeValue], run: RunState) -> dict[str, RuntimeValue] | None:
        """The outputs of a call on the fast path, within the memory that the run has left; None if it is not possible."""
        return self.native.try_run(feeds, run.control, None, min(run.limits.bytes, run.memory.available))

    def run_slow(self, feeds: dict[str, RuntimeValue], run: RunState) -> dict[str, RuntimeValue] | None:
        """The outputs of a call that is not on the fast path, since its sizes or strides may be new; None as `run`."""
        strided = {n: x for n, x in feeds.items() if isinstance(x, np.ndarray) and not x.flags.c_contiguous}
        if strided:
            feeds.update((name, np.ascontiguousarray(array)) for name, array in strided.items())
            if (outputs := self.try_run(feeds, run)) is not None:
                return outputs
        if bind_sizes(self.native.program, feeds) is None:
            return None
        try:
            return self.native.run_subgraph(feeds, run)
        except EvaluationError:
            return None  # the error locates a node of the outlined model; interpretation raises it with the original node


@dataclass(slots=True)
class NativeSubgraphProgram(InterpreterProgram):
    """A graph of the interpreter whose subgraphs run natively where that saves time.

    compiler: compiles outlined subgraphs; None if all are interpreted.
    outer: the captured values of the graph.
    specializations: the compiled subgraph by argument types; None for types for which it is interpreted.
    lock: held while `specializations` receives a program.
    """

    compiler: SubgraphCompiler | None = None
    outer: tuple[Value, ...] = ()
    specializations: dict[TypeKey, CompiledSubgraph | None] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def inner(self, graph: Graph) -> InterpreterProgram:
        if graph in self.scopes or graph in self.subprograms:
            return InterpreterProgram.inner(self, graph)
        program = NativeSubgraphProgram(
            graph,
            self.model,
            self.imports,
            self.bindings,
            self.scopes,
            shared=self.functions,
            compiler=self.compiler,
        )
        program.outer = outer_inputs(graph)
        return self.subprograms.setdefault(graph, program.prepare())

    def output_types(self, arguments: Sequence[Type | None], outer: Frame) -> list[Type | None]:
        """The types that the outputs would have in a call with arguments of these types.

        Raises Bailout if a dim is unknown.  The reference engine may find it in a declaration of an inner value; programs do
        not contain these.
        """
        types = InterpreterProgram.output_types(self, arguments, outer)
        if any(not isinstance(t, TensorType) or t.shape is None or None in t.shape for t in types):
            raise Bailout(EMPTY_SCAN_OUTPUT)
        return types

    def bind(self, run: RunState, outer: Frame | None = None) -> GraphCall:
        interpret = InterpreterProgram.bind(self, run, outer)
        if self.compiler is None or outer is None:
            return interpret
        formals, captured = len(self.graph.inputs), [outer[value] for value in self.outer]
        compiled: CompiledSubgraph | None = None
        types: TypeKey = ()  # types of the inputs of the last call that was tested
        calls = 0

        def call(inputs: Sequence[RuntimeValue]) -> list[RuntimeValue]:
            nonlocal calls, compiled, types
            if len(inputs) != formals:
                return interpret(inputs)
            calls += 1
            if (compiled is not None or calls % TYPE_CHECKS == 1) and not has_types(inputs, types):
                types = tuple(map(type_key, inputs))
                compiled = self.specialize([*inputs, *captured], (*types, *map(type_key, captured)))
            results = None if compiled is None else compiled.run([*inputs, *captured], run)
            return interpret(inputs) if results is None else results

        return call

    def specialize(self, arguments: Sequence[RuntimeValue], key: TypeKey) -> CompiledSubgraph | None:
        """The subgraph compiled for arguments of these types; None if it is interpreted for these types."""
        if key not in self.specializations:
            with self.lock:
                if key not in self.specializations and len(self.specializations) < MAX_SPECIALIZATIONS:
                    self.specializations[key] = self.compile(arguments, key)
        return self.specializations.get(key)

    def compile(self, arguments: Sequence[RuntimeValue], key: TypeKey) -> CompiledSubgraph | None:
        """`specialize_subgraph`; raises CompilationError if the compiler fails, and then it is not tried again for the key."""
        assert self.compiler is not None, f"{self.graph!r} must have a compiler"
        try:
            with typed_defects("compile a subgraph"):
                return specialize_subgraph(self.graph, self.model, arguments, self.compiler)
        except CompilationError:
            self.specializations[key] = None
            raise


def has_types(inputs: Sequence[RuntimeValue], types: TypeKey) -> bool:
    """Whether the inputs have these types; False if there are no types."""
    for x, key in zip(inputs, types, strict=False):
        if not (
            x.dtype is key[0] and x.ndim == key[1]
            if type(key) is tuple and type(x) is np.ndarray
            else type(x) is key
        ):
            return False
    return bool(types)


def type_key(x: RuntimeValue) -> tuple[object, int] | type:
    """The part of a `TypeKey` for one argument."""
    return (x.dtype, x.ndim) if isinstance(x, np.ndarray) else type(x)


def specialize_subgraph(
    graph: Graph, model: Model, arguments: Sequence[RuntimeValue], compiler: SubgraphCompiler
) -> CompiledSubgraph | None:
    """The subgraph compiled for arguments of these types; None if that saves too little, or graphs are nested too deeply."""
    if is_deeply_nested(graph):
        return None
    outlined = outline(graph, model, arguments)
    native = compiler(outlined.model)
    if native is None:
        return None
    fallback_ops = [action for action in native.program.actions if isinstance(action, FallbackOp)]
    compiled = CompiledSubgraph(native, outlined, max(len(graph.nodes) - len(fallback_ops), 0))
    sizes = bind_sizes(native.program, dict(zip(outlined.inputs, arguments, strict=True)))
    python_actions = len(native.program.actions) - len(native.program.steps)
    cost = MIXED_CALL + FALLBACK_NODE * python_actions
    if native.has_fast_path and not python_actions:
        is_growing = has_growing_state(compiled, graph)
        cost = NATIVE_CALL if not is_growing else RESIZED_CALL if native.has_sized_path else MIXED_CALL
    return compiled if sizes is not None and is_profitable(compiled, sizes, cost) else None


def has_growing_state(compiled: CompiledSubgraph, graph: Graph) -> bool:
    """Whether an iteration of a Loop changes the sizes of loop-carried values, so that each call has new sizes."""
    if graph.parent is None or graph.parent.op_type != "Loop":
        return False
    before = {value.name: tensor.shape for value, tensor in compiled.native.program.inputs.items()}
    outputs = compiled.native.program.outputs.items()
    after = {value.name: tensor.shape for value, tensor in outputs if tensor is not None}
    carried = zip(compiled.outlined.inputs[2:], compiled.outlined.results[1:], strict=False)
    return any(
        is_increment(old, new)
        for a, b in carried
        for old, new in zip(before.get(a, ()), after.get(b, ()), strict=False)
    )


def is_increment(old: Known, new: Known) -> bool:
    """Whether a size differs from the size before an iteration by an amount that does not depend on that size."""
    difference = new - old
    symbols = difference.symbols() if isinstance(difference, Expr) else frozenset()
    return difference != 0 and isinstance(old, Expr) and symbols.isdisjoint(old.symbols())


def is_deeply_nested(graph: Graph) -> bool:
    """Whether a graph has more than MAX_NESTED_GRAPHS levels of subgraphs: each would be compiled with all levels inside it."""
    level = [graph]
    for _ in range(MAX_NESTED_GRAPHS):
        level = [inner for outer in level for node in outer.nodes for inner in node.subgraphs]
    return bool(level)


def is_profitable(compiled: CompiledSubgraph, sizes: Mapping[str, int], cost: float) -> bool:
    """Whether a native call, which costs `cost` nanoseconds, is faster than interpretation."""
    steps = compiled.native.program.steps
    saved = sum((evaluate(s.flops, sizes) or 0) / FLOPS_SAVED for s in steps)
    saved += sum((evaluate(s.bytes_accessed, sizes) or 0) / BYTES_SAVED for s in steps)
    return INTERPRETED_NODE * compiled.nodes + saved > cost


def bind_sizes(program: Program, feeds: Mapping[str, RuntimeValue]) -> dict[str, int] | None:
    """The sizes of the program's symbols; None if shapes of feeds contradict the types of the program's inputs."""
    sizes: dict[str, int] = {}
    for value in program.model.graph.inputs:
        fed = feeds[value.name]
        if isinstance(value.type, TensorType) and value.type.shape is not None:
            assert isinstance(fed, np.ndarray), f"{value!r} is no tensor"
            for dim, size in zip(value.type.shape, fed.shape, strict=True):
                if isinstance(dim, Expr):
                    (name,) = dim.symbols()
                    dim = sizes.setdefault(name, size)
                if dim != size:
                    return None
    return sizes
