"""Lengths for the sizes that inputs leave open: the first ones that all operators accept.

Networks of images need a multiple of their strides, and those of sound at least a window, so that inputs of length 1 end in an
error.  Inference with fixed sizes says so before a run, and whether a value has no elements.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from sardonyx._src.errors import InferenceError
from sardonyx._src.infer.observer import ContextFactory, NodeObserver
from sardonyx._src.infer.plan import InferencePlan
from sardonyx._src.infer.walk import infer_partially
from sardonyx._src.ir import Model, Node, TensorType, Type, Value
from sardonyx._src.ir.dims import Expr
from sardonyx._src.ir.model import clone
from sardonyx._src.ir.walk import graphs
from sardonyx._src.measure.random_feeds import dims_of, length_of, open_sizes, size_name
from sardonyx._src.runtime.session.session_values import SessionValue

LENGTHS = (8, 32, 48, 224, 512, 4096, 16000)  # strides of images, images, windows, and a second of sound
MAX_ELEMENTS = 1 << 22  # of one input
MAX_SINGLE = 4  # open sizes that are tried one by one

Lengths = Mapping[str, int]
# Errors, errors in graphs that need not run, and float results without elements.
Contradictions = tuple[int, int, int]


def fitting_sizes(model: Model, ports: Sequence[SessionValue], known: Lengths) -> Lengths:
    """Lengths of the open sizes of inputs (`open_sizes`) that `known` lacks.

    ports: the inputs that get random values.  Tries 1 for all, then longer ones for all that are no batch, then for one.
    """
    names = sorted(open_sizes(ports) - known.keys())
    best: Lengths = dict.fromkeys(names, 1)
    least = contradictions_in(model, ports, {**best, **known})
    together = [name for name in names if name not in batches(ports)]
    for group in ([together] if together else []) + [[name] for name in names[:MAX_SINGLE]]:
        for length in LENGTHS:
            if not any(least):
                return best
            chosen = {**dict.fromkeys(names, 1), **dict.fromkeys(group, length)}
            if are_small(ports, {**chosen, **known}):
                counted = contradictions_in(model, ports, {**chosen, **known})
                best, least = (chosen, counted) if counted < least else (best, least)
        if not any(least[:2]):
            break  # a value without elements may be meant
    return best


def batches(ports: Sequence[SessionValue]) -> set[str]:
    """The names of the first sizes of inputs with several axes."""
    result = set()
    for port in ports:
        dims = [dim for _, dim in dims_of(port.type)]
        if len(dims) > 1:
            result.add(str(dims[0]) if isinstance(dims[0], Expr) else size_name(port.name, 0))
    return result


def are_small(ports: Sequence[SessionValue], lengths: Lengths) -> bool:
    """Whether no input has more than `MAX_ELEMENTS`."""
    return all(math.prod(shape_of(port.name, port.type, lengths)) <= MAX_ELEMENTS for port in ports)


def shape_of(name: str, type: Type | None, lengths: Lengths) -> tuple[int, ...]:
    return tuple(length_of(dim, size_name(name, axis), lengths) for axis, dim in dims_of(type))


def contradictions_in(model: Model, ports: Sequence[SessionValue], lengths: Lengths) -> Contradictions:
    """What inference says of the model when the tensors among its inputs have these lengths."""
    fixed, names = clone(model), {port.name for port in ports}
    for value in fixed.graph.inputs:
        if value.name in names and isinstance(value.type, TensorType) and value.type.shape is not None:
            value.type = replace(value.type, shape=shape_of(value.name, value.type, lengths))
    for value in results(fixed):
        value.type = None  # declared with names that are numbers now
    observer = ContradictionCounter()
    infer_partially(fixed, observer=observer)
    return observer.errors, observer.uncertain, observer.empty


def results(model: Model) -> Iterator[Value]:
    """The results of the nodes of the main graph and of the graphs inside it."""
    for graph in graphs(model.graph):
        for node in graph.nodes:
            yield from node.outputs


class ContradictionCounter(NodeObserver):
    """An observer of inference that counts nodes with errors, and results without elements."""

    def __init__(self) -> None:
        self.errors = self.uncertain = self.empty = 0

    def on_node(
        self,
        contexts: ContextFactory,
        node: Node,
        plan: InferencePlan | None,
        types: Sequence[Type | None],
        error: InferenceError | None,
    ) -> Sequence[Type | None]:
        if error is not None:
            self.errors += contexts.is_certain
            self.uncertain += not contexts.is_certain
        for type in types:
            if isinstance(type, TensorType) and type.dtype.is_float and 0 in (type.shape or ()):
                self.empty += 1
        return types
