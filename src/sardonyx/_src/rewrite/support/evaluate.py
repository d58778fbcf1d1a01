"""Constant evaluation of a single node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from sardonyx._src.errors import SardonyxError
from sardonyx._src.interp.program import InterpreterProgram
from sardonyx._src.interp.run_state import RandomSource, RunState
from sardonyx._src.ir import Graph, Model, Node, Tensor, TensorType, Value
from sardonyx._src.ir.copier import Copier
from sardonyx._src.ops.api import RunLimits, RuntimeValue, as_plain_value
from sardonyx._src.ops.registry import find

FOLDING_LIMITS = RunLimits(bytes=1 << 31, iterations=1 << 16)


class Evaluate(Protocol):
    """A function that evaluates a node without subgraphs on constant inputs; one result per used output.

    None if the node stays: if the operator rejects the inputs, a run reports the error when it reaches the node.
    """

    def __call__(
        self, node: Node, imports: Mapping[str, int], tensors: Sequence[Tensor | None], /
    ) -> Sequence[RuntimeValue] | None: ...


def evaluate_node(
    node: Node, imports: Mapping[str, int], tensors: Sequence[Tensor | None], /
) -> Sequence[RuntimeValue] | None:
    """Evaluates a node by its reference kernel, as `Evaluate` says."""
    model = one_node_model(node, imports, tensors)
    try:
        program = InterpreterProgram(model.graph, model, imports, {}).prepare()
        with np.errstate(all="ignore"):
            results = program.bind(RunState(FOLDING_LIMITS, RandomSource()))([])
    except SardonyxError:
        return None
    return list(map(as_plain_value, results))


def evaluate_fixed_bits(
    node: Node, imports: Mapping[str, int], tensors: Sequence[Tensor | None], /
) -> Sequence[RuntimeValue] | None:
    """As `evaluate_node`; None if the bits of the results depend on the processor."""
    return evaluate_node(node, imports, tensors) if has_fixed_bits(node, tensors) else None


def has_fixed_bits(node: Node, tensors: Sequence[Tensor | None]) -> bool:
    """Whether the reference kernel of a node computes the same bits on every processor.  tensors: its inputs."""
    op = find(node.domain, node.op_type)
    types = [value.type for value in node.outputs if value.name]
    dtypes = [tensor.dtype for tensor in tensors if tensor is not None]
    dtypes += [type_.dtype for type_ in types if isinstance(type_, TensorType)]
    return op is not None and op.has_fixed_bits(dtypes)


def one_node_model(node: Node, imports: Mapping[str, int], tensors: Sequence[Tensor | None]) -> Model:
    """A model of a copy of a node, with initializers as its inputs and the used outputs as outputs."""
    graph = Graph("one node")
    stand_ins: dict[Value, Value | None] = {}
    for value, tensor in zip(node.inputs, tensors, strict=True):
        if value is not None and value not in stand_ins:
            stand_ins[value] = graph.add_initializer(Value(f"x{len(stand_ins)}", None, tensor))
    copy = Copier(stand_ins).node(node)
    graph.append(copy)
    graph.outputs = [v for v in copy.outputs if v.name]
    return Model(graph, ir_version=10, opset_imports=dict(imports))
