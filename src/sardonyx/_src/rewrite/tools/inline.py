"""Calls of model-local functions replaced by the bodies that they call."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from sardonyx._src.errors import InputError, InvalidModel, LimitError
from sardonyx._src.ir.clone import clone
from sardonyx._src.ir.graph import Function, FunctionKey, Graph, Model, Node, Note
from sardonyx._src.ir.inline import inline as put_body
from sardonyx._src.ir.names import Names
from sardonyx._src.ir.walk import location, nodes
from sardonyx._src.ops.registry import find
from sardonyx._src.rewrite.tools.calls import called, callee, drop_uncalled, main_graphs
from sardonyx._src.rewrite.tools.imports import drop_unused
from sardonyx._src.rewrite.tools.lookup import near
from sardonyx._src.schema import lookup, releases

MOST_NODES = 1_000_000
MOST_NESTING = 40  # graphs in graphs: files of more are not read without raising a limit


def inline(
    model: Model,
    functions: Iterable[str] | None = None,
    *,
    lacking: Callable[[str, str], bool] | None = None,
    limit: int = MOST_NODES,
    nesting: int = MOST_NESTING,
) -> Model:
    """A copy of the model in which calls of functions are replaced by bodies; functions that are left uncalled go.

    `functions` names some as `domain.name` or `domain.name:overload`, without an overload all of that name; by default
    all are meant, also those that others call.  `lacking` is asked about domain and name of each and keeps the calls
    for which an engine has something better: `unregistered` is the answer for the reference engine.  Imports that
    only a function has become the model's.

    Raises InputError for a name that no function has; InvalidModel where a body uses an operator that is another one
    in the version that the caller imports, and for a call that does not fit its function; LimitError, before
    anything is made, for a result of more than `limit` nodes, or of graphs nested more than `nesting` deep.
    """
    result = clone(model)
    chosen = set(result.functions) if functions is None else chosen_keys(result, functions)
    if lacking is not None:
        chosen = {key for key in chosen if lacking(*key[:2])}
    order = called(result)
    refuse_growth(result, order, chosen, limit)
    refuse_nesting(result, order, chosen, nesting)
    for function in order:
        replace_calls(result, [function.body], function.opset_imports, chosen)
    replace_calls(result, main_graphs(result), result.opset_imports, chosen)
    drop_uncalled(result)
    drop_unused(result, {function.domain for function in order})
    return result


def unregistered(domain: str, name: str) -> bool:
    """Whether the reference engine knows no operator of that domain and name."""
    return find(domain, name) is None


def chosen_keys(model: Model, wanted: Iterable[str]) -> set[FunctionKey]:
    """The functions that labels name."""
    labels: dict[str, set[FunctionKey]] = {}
    for function in model.functions.values():
        for label in (function.label, function.label.partition(":")[0]):
            labels.setdefault(label, set()).add(function.key)
    found: set[FunctionKey] = set()
    for name in wanted:
        if name not in labels:
            raise InputError(f"the model has no function {name!r}{near(name, labels)}", name=name)
        found |= labels[name]
    return found


def refuse_growth(model: Model, order: list[Function], chosen: Collection[FunctionKey], limit: int) -> None:
    """Raises LimitError when the result would have more nodes than the limit; `order`: callees before callers."""
    sizes: dict[Function, int] = {}

    def size(graph: Graph) -> int:
        total = 0
        for node in nodes(graph):
            function = callee(node, model)
            is_inlined = function is not None and function.key in chosen
            total += sizes[function] + len(node.outputs) if function is not None and is_inlined else 1
        return total

    for function in order:
        sizes[function] = size(function.body)
    total = sum(map(size, main_graphs(model))) + sum(sizes[f] for f in order if f.key not in chosen)
    if total > limit:
        raise LimitError(
            f"with its functions inlined the model would have up to {total} nodes", limit="limit"
        )


def refuse_nesting(model: Model, order: list[Function], chosen: Collection[FunctionKey], limit: int) -> None:
    """Raises LimitError when graphs in graphs would stand deeper than the limit; `order`: callees before callers."""
    depths: dict[Function, int] = {}

    def depth(graph: Graph) -> int:
        deepest = 0
        for node in graph.nodes:
            function = callee(node, model)
            if function is not None and function.key in chosen:
                deepest = max(deepest, depths[function])
            deepest = max([deepest, *(1 + depth(inner) for inner in node.subgraphs)])
        return deepest

    for function in order:
        depths[function] = depth(function.body)
    deepest = max([*map(depth, main_graphs(model)), *depths.values()])
    if deepest > limit:
        raise LimitError(f"with its functions inlined the model would nest {deepest} graphs", limit="nesting")


def replace_calls(
    model: Model, together: list[Graph], imports: dict[str, int], chosen: Collection[FunctionKey]
) -> None:
    """Replaces the calls in graphs that see each other's values; the bodies that they call hold no such calls."""
    names: Names | None = None
    for node in [node for graph in together for node in nodes(graph)]:
        function = callee(node, model)
        if function is None or function.key not in chosen:
            continue
        refuse_misfit(node, function)
        take_imports(model, function, imports, node)
        if node.device_configurations:
            what = f"the device configurations of a call of {function.label} are left out with it"
            model.notes.append(Note(location(node), what))
        names = names or Names(together)
        made = put_body(node, function, names)
        if any(one.op_type == "Identity" and not one.domain for one in made):
            imports.setdefault("", newest_opset(model.ir_version))


def refuse_misfit(call: Node, function: Function) -> None:
    """Raises InvalidModel for a call with more inputs or outputs than its function, or that leaves out what is handed on."""
    body = function.body
    for what, given, taken in (
        ("inputs", len(call.inputs), len(body.inputs)),
        ("outputs", len(call.outputs), len(body.outputs)),
    ):
        if given > taken:
            raise InvalidModel(f"{given} {what}, {function.label} has {taken}", location=location(call))
    inputs = dict(zip(body.inputs, (*call.inputs, *[None] * len(body.inputs)), strict=False))
    for output, result in zip(call.outputs, body.outputs, strict=False):
        if output.name and inputs.get(result, output) is None:
            what = f"{function.label} hands {result.name!r} on as {output.name!r}, and the call leaves it out"
            raise InvalidModel(f"{what}; give that input", location=location(call))


def take_imports(model: Model, function: Function, imports: dict[str, int], call: Node) -> None:
    """Makes the imports of a call's place serve the body; raises InvalidModel where they mean another operator."""
    for node in nodes(function.body):
        if callee(node, model) is not None:
            continue
        domain, own = node.domain, function.opset_imports.get(node.domain)
        if own is None:
            what = f"uses {node.op_type} of domain {domain or 'ai.onnx'!r}, which it does not import"
            raise InvalidModel(what, location=location(node))
        there = imports.setdefault(domain, own)
        if there != own and not same_operator(node, own, there):
            what = f"{function.label} goes by {domain or 'ai.onnx'} {own}, its caller by {there}"
            cure = "convert the model to one version first, or do not inline it"
            raise InvalidModel(
                f"{what}, where {node.op_type} is another operator; {cure}", location=location(call)
            )


def same_operator(node: Node, one: int, other: int) -> bool:
    """Whether two versions of a domain have the operator in the same version."""
    found, there = (lookup(node.domain, node.op_type, version) for version in (one, other))
    return found is not None and there is not None and found.since_version == there.since_version


def newest_opset(ir_version: int) -> int:
    """The newest default operator set of the releases that had this IR version or an older one."""
    return max((r.opsets[""] for r in releases() if r.ir_version <= ir_version), default=1)
