"""Fallback ops: the nodes of a compiled program that run as reference kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, cast

import numpy as np

from sardonyx._src.compile.program.steps.program import FallbackOp, Program
from sardonyx._src.errors import EvaluationError
from sardonyx._src.interp.run_state import Frame, RunState
from sardonyx._src.ir import Array, Graph, Node, Value
from sardonyx._src.ir.walk import captures, location
from sardonyx._src.ops.run_values import SEQUENCES, RuntimeValue
from sardonyx._src.runtime.fallbacks.interruptible_calls import call_interruptibly

if TYPE_CHECKING:
    from sardonyx._src.interp.steps import NodeStep
    from sardonyx._src.ops.api import Operator
    from sardonyx._src.runtime.fallbacks.native_subgraphs import NativeSubgraphProgram, SubgraphCompiler

# Bytes of inputs from which a kernel may run so long that its caller must be able to stop waiting: a helper thread calls it.
MIN_LONG_INPUTS = 1 << 18


class FallbackRunner:
    """The reference kernels of a program's fallback ops, and the constants that they read.

    Raises UnsupportedOperator or InvalidModel for a node that cannot run.
    nodes: the nodes of the fallback ops.
    """

    def __init__(
        self, program: Program, compiler: SubgraphCompiler | None = None, *, is_lazy: bool = False
    ) -> None:
        """compiler: compiles the subgraphs of fallback ops; None if they are interpreted.
        is_lazy: whether kernels are bound only at the first run, for a program that may never run.
        """
        self.model, self.compiler = program.model, compiler
        self.nodes = [action.node for action in program.actions if isinstance(action, FallbackOp)]
        self.constants = constants_read(program.model.graph, self.nodes)
        self.bound_steps: dict[Node, NodeStep] | None = None if is_lazy else self.bind_steps()

    @property
    def steps(self) -> dict[Node, NodeStep]:
        """The nodes with their kernels."""
        if self.bound_steps is None:
            self.bound_steps = self.bind_steps()
        return self.bound_steps

    def bind_steps(self) -> dict[Node, NodeStep]:
        if not self.nodes:
            return {}
        from sardonyx._src.interp.program import step_of  # lazy: most programs have no fallback ops

        return {node: step_of(node, self.interpreted) for node in self.nodes}

    @cached_property
    def interpreted(self) -> NativeSubgraphProgram:
        """The graph of the nodes, as the interpreter prepares it."""
        from sardonyx._src.runtime.fallbacks.native_subgraphs import NativeSubgraphProgram  # lazy, too

        graph, imports = self.model.graph, self.model.opset_imports
        program = NativeSubgraphProgram(graph, self.model, imports, {}, compiler=self.compiler)
        program.constants = self.constants
        return program

    def frame(self, run: RunState) -> Frame:
        """The frame of a new run, which has only the constants."""
        return Frame(dict(self.constants), None, run)

    def call(self, node: Node, native_inputs: Mapping[Value, Array], frame: Frame) -> None:
        """Runs a node, and stores its results in the frame.

        native_inputs: the inputs that native steps have computed, as views of memory that later steps reuse.  A result that
            may share this memory is copied.
        """
        step = self.steps[node]
        frame.values.update(native_inputs)
        takes_sequences = bool(native_inputs) and any(
            isinstance(x, SEQUENCES) for x in frame_inputs(step, frame)
        )
        if takes_sequences:
            # Copies of the tensors cost less than looking for their memory in all elements of result sequences.
            copies = {value: array.copy() for value, array in native_inputs.items()}
            frame.run.memory.add(list(copies.values()))
            frame.values.update(copies)
        if node.subgraphs or sum(map(array_bytes, frame_inputs(step, frame))) < MIN_LONG_INPUTS:
            step.execute(frame)
        else:
            call_interruptibly(partial(execute_step, step, frame), frame.run.control)
        for value in native_inputs:
            del frame.values[value]
        if native_inputs and not (takes_sequences or returns_copies(node)):
            for output in step.writes:
                if output is not None:
                    frame.values[output] = copy_if_shared(frame.values[output], native_inputs)
                    frame.run.memory.add([frame.values[output]])


def constants_read(graph: Graph, nodes: Sequence[Node]) -> dict[Value, RuntimeValue]:
    """The elements of the initializers that nodes read, and of those that are outputs of the graph."""
    read = {v for node in nodes for v in values_read(node)} | set(graph.outputs)
    constants = [value for value in graph.initializers.values() if value in read]
    if not constants:
        return {}
    from sardonyx._src.interp.program import constant_value  # lazy: few programs have such constants

    return {value: constant_value(value) for value in constants}


def operator_of(node: Node) -> Operator | None:
    from sardonyx._src.ops.registry import find  # lazy: most programs have no fallback ops

    return find(node.domain, node.op_type)


def returns_copies(node: Node) -> bool:
    """Whether the results of a node's kernel are known to share no memory with its inputs."""
    op = operator_of(node)
    return op is not None and op.returns_copies


def frame_inputs(step: NodeStep, frame: Frame) -> list[RuntimeValue]:
    """The values of a step's inputs."""
    return [None if value is None else frame[value] for value in step.reads]


def array_bytes(value: RuntimeValue) -> int:
    """The bytes of an array; 0 for other values."""
    return value.nbytes if isinstance(value, np.ndarray) else 0


def execute_step(step: NodeStep, frame: Frame) -> None:
    """Executes a step in another thread: NumPy's handling of numeric errors is set separately for each thread."""
    with np.errstate(all="ignore"):
        step.execute(frame)


def values_read(node: Node) -> set[Value]:
    """The values that a node reads, captured values of its subgraphs included."""
    inputs = {v for v in node.inputs if v is not None}
    return inputs.union(*(captures(graph) for graph in node.subgraphs))


def copy_if_shared(result: RuntimeValue, native_inputs: Mapping[Value, Array]) -> RuntimeValue:
    """The result; each array in it that may share memory with an input is copied."""
    match result:
        case np.ndarray():
            is_shared = any(np.may_share_memory(result, array) for array in native_inputs.values())
            return result.copy() if is_shared else result
        case list():
            distinct = {id(element): element for element in result}
            copies = {key: copy_if_shared(element, native_inputs) for key, element in distinct.items()}
            return [copies[id(element)] for element in result]
        case dict():
            return cast(
                RuntimeValue, {key: copy_if_shared(value, native_inputs) for key, value in result.items()}
            )
    return result


def check_result(
    value: RuntimeValue, shape: tuple[int, ...], dtype: np.dtype[np.generic], node: Node | None
) -> Array:
    """The result of a reference kernel as an array; raises EvaluationError unless it has the inferred type and shape."""
    if not isinstance(value, np.ndarray) or value.shape != shape or value.dtype != dtype:
        actual = (
            f"{value.dtype}{list(value.shape)}" if isinstance(value, np.ndarray) else type(value).__name__
        )
        where = "" if node is None else location(node)
        raise EvaluationError(
            f"the result must be {dtype}{list(shape)}, as inferred; got {actual}", location=where
        )
    return value
