"""The nodes of a program that their reference kernels run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np

from sardonyx._src.compile.program import HostCall, Program
from sardonyx._src.errors import EvaluationError
from sardonyx._src.interp.program import constant, step_of
from sardonyx._src.interp.steps import Frame, Run, Step
from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.walk import captured, location
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.runtime.bodies import Body, Compiler


class Host:
    """The reference kernels that a program calls.

    Raises UnsupportedOperator or InvalidModel for a node that cannot be called.
    """

    def __init__(self, program: Program, compiler: Compiler | None = None) -> None:
        """compiler: makes native programs of subgraphs; None where there is nothing to make them with."""
        model = program.model
        self.interpreted = Body(model.graph, model, model.opset_imports, {}, compiler=compiler)
        calls = [action.node for action in program.actions if isinstance(action, HostCall)]
        read = {v for node in calls for v in inputs_of(node)} | set(model.graph.outputs)
        self.constants = {
            value: constant(value) for value in model.graph.initializers.values() if value in read
        }
        self.interpreted.constants = self.constants
        self.steps: dict[Node, Step] = {node: step_of(node, self.interpreted) for node in calls}

    def frame(self, run: Run) -> Frame:
        return Frame(dict(self.constants), None, run)

    def call(self, node: Node, taken: Mapping[Value, Array], frame: Frame) -> None:
        """Runs a node; `taken` are views of its inputs, whose memory will be used for other things."""
        frame.values.update(taken)
        step = self.steps[node]
        step.execute(frame)
        for value in taken:
            del frame.values[value]
        for output in step.writes:
            if taken and output is not None:
                frame.values[output] = kept(frame.values[output], taken)


def inputs_of(node: Node) -> set[Value]:
    """What a node reads, outer values of its subgraphs included."""
    found = {v for v in node.inputs if v is not None}
    return found.union(*(captured(graph) for graph in node.subgraphs))


def kept(result: RuntimeValue, taken: Mapping[Value, Array]) -> RuntimeValue:
    """A result that shares no memory with what it was made of."""
    match result:
        case np.ndarray():
            shares = any(np.may_share_memory(result, one) for one in taken.values())
            return result.copy() if shares else result
        case list():
            return [kept(one, taken) for one in result]
        case dict():
            return cast(RuntimeValue, {key: kept(one, taken) for key, one in result.items()})
    return result


def held(
    value: RuntimeValue, shape: tuple[int, ...], dtype: np.dtype[np.generic], node: Node | None
) -> Array:
    """A value of the host as the array that was inferred; raises EvaluationError for another one."""
    if not isinstance(value, np.ndarray) or value.shape != shape or value.dtype != dtype:
        found = f"{value.dtype}{list(value.shape)}" if isinstance(value, np.ndarray) else type(value).__name__
        where = "" if node is None else location(node)
        raise EvaluationError(
            f"the result is {found}, where {dtype}{list(shape)} was inferred", location=where
        )
    return value
