"""Preparation of a model for differentiation: newest operator sets, no calls, and bodies for operators without gradient."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from sardonyx._src.convert.conversion import convert
from sardonyx._src.convert.expansion import expand
from sardonyx._src.errors import DifferentiationError, InferenceError
from sardonyx._src.grad.active import active_nodes
from sardonyx._src.grad.decompose import decompose
from sardonyx._src.grad.registry import find_gradient
from sardonyx._src.grad.reverse import CURE
from sardonyx._src.infer.state import InferenceState
from sardonyx._src.infer.walk import model_walk, run_walk
from sardonyx._src.ir import Model, Node, TensorType, Type, Value
from sardonyx._src.ir.inline import inline
from sardonyx._src.ir.names import FreshNames
from sardonyx._src.ir.walk import location, nodes, roots
from sardonyx._src.ops.bind import schema_of
from sardonyx._src.ops.registry import find
from sardonyx._src.schema import domains, latest

MAX_NODES = 1_000_000  # nodes of a model with its calls inlined


def update(model: Model) -> Model:
    """A copy of a model in the newest version of every operator set that it imports, without training information.

    The newest version is the released one, unless the model imports one under development.
    """
    sets = {d: max(latest(d), version) for d, version in model.opset_imports.items() if d in domains()}
    result = convert(model, sets=sets)
    result.training = []
    return result


def inline_calls(model: Model) -> None:
    """Replaces all calls of the main graph, subgraphs included, by the bodies of their functions."""
    names = FreshNames.of_graphs([model.graph])
    pending = list(nodes(model.graph))
    count = 0
    while pending:
        node = pending.pop()
        function = model.functions.get((node.domain, node.op_type, node.overload))
        if function is None:
            continue
        for domain, version in function.opset_imports.items():
            model.opset_imports.setdefault(domain, version)
        copies = inline(node, function, names)
        count += len(copies)
        if count > MAX_NODES:
            raise DifferentiationError(
                f"a model must have at most {MAX_NODES} nodes with its calls inlined",
                location=location(copies[0]),
            )
        pending += [
            inner for copy in copies for inner in (copy, *(n for g in copy.subgraphs for n in nodes(g)))
        ]
    model.functions.clear()


def expand_path(
    model: Model, sources: Sequence[Value], target: Value, constants: Collection[Value] = ()
) -> list[Node]:
    """The nodes on paths from the sources to the target.

    Before, operators without gradient on these paths are replaced by their decompositions or bodies.
    """
    graph = target.owner
    assert graph is not None, f"{target!r} is in no graph"
    while True:
        state = infer_types(model)
        path = active_nodes(graph.nodes, sources, [target], constants)
        on_path = [*path, *(inner for node in path for graph in node.subgraphs for inner in nodes(graph))]
        if decompose(model, state, on_path):
            continue
        pending = [node for node in on_path if must_expand(node, model)]
        if not pending:
            return path
        expand_bodies(model, pending)


def expand_bodies(model: Model, pending: Sequence[Node]) -> None:
    """Replaces nodes by the bodies of their operators; raises DifferentiationError for a node whose operator has none for it."""
    for node in pending:
        try:
            expand(model, [node])
        except InferenceError as error:
            version = schema_of(node, model.opset_imports).since_version
            raise DifferentiationError(
                f"it has no gradient, and no body: {error.args[0]}; {CURE}",
                domain=node.domain,
                op_type=node.op_type,
                version=version,
                location=location(node),
            ) from error


def must_expand(node: Node, model: Model) -> bool:
    """Whether a node's operator has a body and no gradient."""
    op = find(node.domain, node.op_type)
    if op is None:
        return False
    version = schema_of(node, model.opset_imports).since_version
    return version in op.bodies and find_gradient(node.domain, node.op_type, version) is None


def infer_sizes_anew(model: Model) -> None:
    """Types computed values by inference; declarations only add types and dims that inference does not know.

    Exporters declare the sizes of the example that they traced, and backward nodes rely on sizes.
    """
    results = [value for root in roots(model) for node in nodes(root) for value in node.outputs]
    declared = {value: value.type for value in results}
    for value in results:
        value.type = None
    infer_types(model)
    for value, type_ in declared.items():
        value.type = complete(value.type, type_)


def complete(inferred: Type | None, declared: Type | None) -> Type | None:
    """The inferred type, completed by dims and types that only the declaration has."""
    if inferred is None:
        return declared
    if not isinstance(inferred, TensorType) or not isinstance(declared, TensorType) or declared.shape is None:
        return inferred
    if inferred.shape is None:
        return replace(inferred, shape=declared.shape)
    if len(inferred.shape) != len(declared.shape):
        return inferred
    dims = (known if a is None else a for a, known in zip(inferred.shape, declared.shape, strict=True))
    return replace(inferred, shape=tuple(dims))


def infer_types(model: Model) -> InferenceState:
    """Types the values of a model; returns the state, which has the known elements."""
    state = InferenceState(model, [])
    run_walk(model_walk(model, state))
    state.finalize()
    return state
