"""A model made ready to be compiled: at the newest operator set, optimised, with nothing declared that is not asked."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from sardonyx._src.compile.early import all_fit
from sardonyx._src.compile.spelled import spell_out
from sardonyx._src.compile.widening import widen
from sardonyx._src.convert.converter import convert
from sardonyx._src.errors import ConversionError, InferenceError, LimitError
from sardonyx._src.infer.ongoing import Ongoing
from sardonyx._src.ir.clone import clone
from sardonyx._src.ir.dims import Expr, Known, symbol
from sardonyx._src.ir.graph import Model, Value
from sardonyx._src.ir.tensors import Tensor
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ir.walk import graphs, nodes, roots
from sardonyx._src.rewrite.optimize import optimize
from sardonyx._src.schema import latest

log = logging.getLogger(__name__)
OPTIMISED_FOR = 60.0  # seconds
CONSTANTS = 1 << 30  # bytes that constants may become more: here they make no file longer
APART = 4  # the first IR version in which initializers need not be inputs


@dataclass(frozen=True, slots=True)
class Prepared:
    """A model of the compiler's own, and what is known of its values.

    sizes: for each symbol of its shapes, the input and the axis whose length it is.
    """

    model: Model
    facts: Ongoing
    sizes: Mapping[str, tuple[str, int]]


def prepared(model: Model) -> Prepared:
    """A copy that computes the same for callers who override no initializer."""
    copy = stripped(model)
    sizes = name_sizes(copy)
    copy.ir_version = max(copy.ir_version, APART)
    try:
        copy = optimize(newest(copy), seconds=OPTIMISED_FOR, growth=CONSTANTS)
    except (InferenceError, LimitError) as error:
        log.info("the model is compiled as it is: %s", error)
    facts = typed(copy)
    if widen(copy, facts):
        facts = typed(copy)
    spell_out(copy)
    return Prepared(copy, facts, sizes)


def typed(model: Model) -> Ongoing:
    """What is found of a model's values where nothing is declared but of its inputs."""
    forget_types(model)
    facts = Ongoing(model)
    facts.walk()
    return facts


def stripped(model: Model) -> Model:
    """A copy without training graphs, in which initializers are constants and have their own types.

    Of other values, only inputs have any.
    """
    copy = clone(model)
    copy.training.clear()
    graph = copy.graph
    for value in graph.inputs:
        if value.initializer is not None:
            graph.remove_input(value)
    for value in graph.initializers.values():
        if isinstance(value.initializer, Tensor):
            value.type = TensorType(value.initializer.dtype, value.initializer.shape)
    forget_types(copy)
    return copy


def forget_types(model: Model) -> None:
    """Files declare stale sizes, and kernels rely on sizes: only those that follow from the inputs are believed."""
    for root in roots(model):
        for graph in graphs(root):
            for node in nodes(graph):
                for value in node.outputs:
                    value.type = None


def newest(model: Model) -> Model:
    """The model at the newest version of the default operator set, or as it is where that cannot be."""
    if not all_fit(model):
        log.info(
            "the model is compiled under its own operator sets: later ones take more shapes than it does"
        )
        return model
    try:
        return convert(model, opset=latest(""))
    except (ConversionError, InferenceError) as error:
        log.info("the model is compiled under its own operator sets: %s", error)
        return model


def name_sizes(model: Model) -> dict[str, tuple[str, int]]:
    """Gives every size of an input that is no number a symbol; answers where each symbol's length is found."""
    found: dict[str, tuple[str, int]] = {}
    for value in model.graph.inputs:
        if isinstance(value.type, TensorType) and value.type.shape is not None:
            scope = (
                "" if model.ir_version >= 4 else f"{value.name}."
            )  # earlier a name holds in one declaration
            shape = tuple(named(dim, value, axis, scope, found) for axis, dim in enumerate(value.type.shape))
            value.type = TensorType(value.type.dtype, shape)
    return found


def named(dim: Known | None, value: Value, axis: int, scope: str, found: dict[str, tuple[str, int]]) -> Known:
    """The size as a number or as one symbol; one that is an expression of others gets a symbol of its own."""
    if isinstance(dim, int):
        return dim
    if isinstance(dim, Expr):
        name = next(iter(dim.symbols()), "")
        if dim == symbol(name):
            found.setdefault(scope + name, (value.name, axis))
            return symbol(scope + name)
    name = f"{value.name}.{axis}"
    found[name] = (value.name, axis)
    return symbol(name)
