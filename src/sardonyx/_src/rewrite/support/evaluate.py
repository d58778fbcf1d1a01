"""Constant evaluation of a single node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sardonyx._src.errors import SardonyxError
from sardonyx._src.interp.program import InterpreterProgram
from sardonyx._src.interp.run_state import RandomSource, RunState
from sardonyx._src.ir import Graph, Model, Node, Tensor, Value
from sardonyx._src.ir.copier import Copier
from sardonyx._src.ops.api import RunLimits, RuntimeValue, as_plain_value

FOLDING_LIMITS = RunLimits(bytes=1 << 31, iterations=1 << 16)


def evaluate_node(
    node: Node, imports: Mapping[str, int], tensors: Sequence[Tensor | None]
) -> Sequence[RuntimeValue] | None:
    """Evaluate a node without subgraphs on constant inputs; one result per used output.

    None if the operator rejects the inputs: a run reports the error, if it reaches the node.
    """
    graph = Graph("one node")
    stand_ins: dict[Value, Value | None] = {}
    for value, tensor in zip(node.inputs, tensors, strict=True):
        if value is not None and value not in stand_ins:
            stand_ins[value] = graph.add_initializer(Value(f"x{len(stand_ins)}", None, tensor))
    copy = Copier(stand_ins).node(node)
    graph.append(copy)
    graph.outputs = [v for v in copy.outputs if v.name]
    model = Model(graph, ir_version=10, opset_imports=dict(imports))
    try:
        program = InterpreterProgram(graph, model, imports, {}).prepare()
        with np.errstate(all="ignore"):
            results = program.bind(RunState(FOLDING_LIMITS, RandomSource()))([])
    except SardonyxError:
        return None
    return list(map(as_plain_value, results))
