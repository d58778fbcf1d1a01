"""Constant evaluation of a single node."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Protocol

import numpy as np

from sardonyx._src.errors import SardonyxError
from sardonyx._src.interp.program import InterpreterProgram
from sardonyx._src.interp.run_state import RandomSource, RunState
from sardonyx._src.ir import Array, Graph, Model, Node, Tensor, TensorType, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.copier import Copier
from sardonyx._src.ops.api import RunLimits, RuntimeValue, as_plain_value
from sardonyx._src.ops.registry import SPECIFIED_DOMAINS, find

# Programs of nodes without their inputs, shared by all models of the process.  Of floats, which may be part of a value
# that equals another one with other bits, as 0 and -0, there are none in keys.
PROGRAMS: dict[Hashable, InterpreterProgram] = {}
MAX_PROGRAMS = 64  # a model folds nodes of few kinds
KEY_TYPES = frozenset(AttributeType[name] for name in ("INT", "STRING", "INTS", "STRINGS"))
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
    try:
        program, feeds = program_of(node, imports, tensors)
        with np.errstate(all="ignore"):
            results = program.bind(RunState(FOLDING_LIMITS, RandomSource()))(feeds)
    except SardonyxError:
        return None
    return list(map(as_plain_value, results))


def program_of(
    node: Node, imports: Mapping[str, int], tensors: Sequence[Tensor | None]
) -> tuple[InterpreterProgram, Sequence[RuntimeValue]]:
    """The prepared program of a node and its inputs; equal nodes share one, since preparing takes as long as most runs."""
    key = program_key(node, imports)
    program = PROGRAMS.get(key)
    if program is None:
        model = one_node_model(node, imports, tensors)
        graph = model.graph
        if key is not None:
            for value in [*graph.initializers.values()]:
                graph.remove_initializer(value)
                graph.add_input(value)
        program = InterpreterProgram(graph, model, imports, {}).prepare()
        if key is not None:
            if len(PROGRAMS) == MAX_PROGRAMS:
                PROGRAMS.clear()
            PROGRAMS[key] = program
    distinct = dict(zip(node.inputs, tensors, strict=True))
    given = (tensor.numpy().view() for tensor in distinct.values() if tensor is not None)
    return program, list(map(read_only, given)) if program.graph.inputs else []


def program_key(node: Node, imports: Mapping[str, int]) -> Hashable:
    """What the program of a node depends on; None if it is not shared, as for operators that callers can define anew."""
    attributes = node.attributes.values()
    if node.domain not in SPECIFIED_DOMAINS or any(a.ref or a.type not in KEY_TYPES for a in attributes):
        return None
    distinct: dict[Value, int] = {}
    inputs = tuple(None if v is None else distinct.setdefault(v, len(distinct)) for v in node.inputs)
    values = tuple((a.name, a.type, a.value) for a in attributes)
    outputs = tuple(bool(value.name) for value in node.outputs)
    return node.domain, node.op_type, tuple(imports.items()), inputs, outputs, values


def read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array


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
