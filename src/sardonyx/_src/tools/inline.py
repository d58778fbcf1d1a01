"""`inline`: replace calls of model-local functions by their bodies."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from sardonyx._src.convert.conversion import expand_vendor_operators
from sardonyx._src.convert.vendor_operators import vendor_operators
from sardonyx._src.errors import InputError, InvalidModel, LimitError
from sardonyx._src.infer.omissions import OMITTED, FunctionSummary, refuse_omissions, summarize_functions
from sardonyx._src.ir import Function, Graph, Model, Node
from sardonyx._src.ir.inline import inline as put_body
from sardonyx._src.ir.model import FunctionKey, Note, clone
from sardonyx._src.ir.names import FreshNames
from sardonyx._src.ir.parameters import filled_parameters, undecided_defaults
from sardonyx._src.ir.walk import location, nodes
from sardonyx._src.ops.registry import find
from sardonyx._src.schema import lookup, releases
from sardonyx._src.suggestions import suggest
from sardonyx._src.tools.calls import callee, main_graphs, reachable_functions, remove_uncalled
from sardonyx._src.tools.imports import remove_unused_imports

MOST_NODES = 1_000_000
MOST_NESTING = 40  # graphs inside each other: the default limit with which models are loaded


def inline(
    model: Model,
    functions: Iterable[str] | None = None,
    *,
    lacking: Callable[[str, str], bool] | None = None,
    limit: int = MOST_NODES,
    nesting: int = MOST_NESTING,
) -> Model:
    """Return a copy of the model with function calls replaced by function bodies; uncalled functions are removed.

    functions: names of functions, as `domain.name` for all overloads or `domain.name:overload`; by default all functions are
        inlined, nested calls included.
    lacking: is called with domain and name of a function and returns whether to inline it: an engine that implements a
        function keeps its calls (`is_unregistered` for the reference engine).
    limit: the largest number of nodes of the result.
    nesting: the largest depth of graphs inside each other.

    Operators of vendors are inlined by the same rules: they are replaced by their bodies in standard operators; an operator
    without a body stays, with a note.  Imports that only a function has are added to the model.

    Two kinds of calls stay, with a note.  One is a call in a function that is not inlined itself, if the call forwards an
    attribute that callers of that function may omit, and the called function has a default for the attribute.  The other is a
    call that omits an input which a branch or the body of a loop requires.

    Raises InputError for an unknown function; InvalidModel if an operator of a body has another version under the caller's
    imports, and for a call that does not match its function or omits an argument that the function requires; LimitError,
    before any change, for a result above `limit` or `nesting`.
    """
    result = clone(model)
    operators = vendor_operators(result)
    labels = None if functions is None else set(functions)
    if labels is not None:
        operators = {pair for pair in operators if label_of(*pair) in labels}
        labels -= {label_of(*pair) for pair in operators}
    selected = set(result.functions) if labels is None else keys_of(result, labels)
    if lacking is not None:
        selected = {key for key in selected if lacking(*key[:2])}
        operators = {pair for pair in operators if lacking(*pair)}
    order = reachable_functions(result)
    refuse_growth(result, order, selected, limit)
    refuse_nesting(result, order, selected, nesting)
    refuse_omissions(result)
    summaries = summarize_functions(result)
    kept = replace_calls(result, None, main_graphs(result), selected, summaries)
    for function in reversed(order):
        if function.key not in selected or function.key in kept:
            kept |= replace_calls(result, function, [function.body], selected, summaries)
    remove_uncalled(result)
    remove_unused_imports(result, {function.domain for function in order})
    for refused in expand_vendor_operators(result, operators):
        result.notes.append(Note(refused.location, refused.why))
    return result


def label_of(domain: str, name: str) -> str:
    """The name of an operator in the form of a function label, `domain.name`."""
    return f"{domain or 'ai.onnx'}.{name}"


def is_unregistered(domain: str, name: str) -> bool:
    """Whether the reference engine has no operator of this domain and name."""
    return find(domain, name) is None


def keys_of(model: Model, labels: Iterable[str]) -> set[FunctionKey]:
    """The keys of the functions that labels name."""
    keys_by_label: dict[str, set[FunctionKey]] = {}
    for function in model.functions.values():
        for label in (function.label, function.label.partition(":")[0]):
            keys_by_label.setdefault(label, set()).add(function.key)
    keys: set[FunctionKey] = set()
    for name in labels:
        if name not in keys_by_label:
            hint = suggest(name, sorted(keys_by_label), "functions")
            raise InputError(f"the model has no function {name!r}{hint}", name=name)
        keys |= keys_by_label[name]
    return keys


def refuse_growth(model: Model, order: list[Function], selected: Collection[FunctionKey], limit: int) -> None:
    """Raise LimitError if the result would have more nodes than the limit; `order`: callees before callers."""
    sizes: dict[Function, int] = {}

    def size(graph: Graph) -> int:
        total = 0
        for node in nodes(graph):
            function = callee(node, model)
            is_inlined = function is not None and function.key in selected
            total += sizes[function] + len(node.outputs) if function is not None and is_inlined else 1
        return total

    for function in order:
        sizes[function] = size(function.body)
    total = sum(map(size, main_graphs(model))) + sum(sizes[f] for f in order if f.key not in selected)
    if total > limit:
        raise LimitError(
            f"with its functions inlined the model would have up to {total} nodes", limit="limit"
        )


def refuse_nesting(
    model: Model, order: list[Function], selected: Collection[FunctionKey], limit: int
) -> None:
    """Raise LimitError if graphs would be nested deeper than the limit; `order`: callees before callers."""
    depths: dict[Function, int] = {}

    def depth(graph: Graph) -> int:
        deepest = 0
        for node in graph.nodes:
            function = callee(node, model)
            if function is not None and function.key in selected:
                deepest = max(deepest, depths[function])
            deepest = max([deepest, *(1 + depth(inner) for inner in node.subgraphs)])
        return deepest

    for function in order:
        depths[function] = depth(function.body)
    deepest = max([*map(depth, main_graphs(model)), *depths.values()])
    if deepest > limit:
        raise LimitError(f"with its functions inlined the model would nest {deepest} graphs", limit="nesting")


def replace_calls(
    model: Model,
    caller: Function | None,
    graphs: list[Graph],
    selected: Collection[FunctionKey],
    summaries: Mapping[Function, FunctionSummary],
) -> set[FunctionKey]:
    """Replace the selected calls in a function, or in the main graphs (`caller`: None), and in the bodies that replace
    them; returns the functions that some calls still need.

    Callers must be processed before callees: references among the attributes of a call are resolved when the call is replaced.
    """
    imports = model.opset_imports if caller is None else caller.opset_imports
    filled = set() if caller is None else filled_parameters(caller)
    names: FreshNames | None = None
    kept: set[FunctionKey] = set()
    pending = [node for graph in graphs for node in nodes(graph)][::-1]
    while pending:
        node = pending.pop()
        function = callee(node, model)
        if function is None or function.key not in selected:
            continue
        if caller is not None and (undecided := next(undecided_defaults(node, function, filled), None)):
            what = f"the call of {function.label} stays: attribute {undecided!r} is a parameter of {caller.label}, which"
            what += f" its calls may omit, and then the default of {function.label} holds"
            model.notes.append(Note(location(node), what))
            kept.add(function.key)
            continue
        refuse_misfit(node, function)
        if why := needed_call(node, function, summaries[function]):
            model.notes.append(Note(location(node), f"the call of {function.label} stays: {why}"))
            kept.add(function.key)
            continue
        take_imports(model, function, imports, node)
        if node.device_configurations:
            what = f"the device configurations of a call of {function.label} are removed with it"
            model.notes.append(Note(location(node), what))
        names = names or FreshNames.of_graphs(graphs)
        inlined = put_body(node, function, names)
        if any(new_node.op_type == "Identity" and not new_node.domain for new_node in inlined):
            imports.setdefault("", newest_opset(model.ir_version))
        inside = [inner for new_node in inlined for graph in new_node.subgraphs for inner in nodes(graph)]
        pending += [*inlined, *inside][::-1]
    return kept


def refuse_misfit(call: Node, function: Function) -> None:
    """Raise InvalidModel for a call with more inputs or outputs than its function."""
    body = function.body
    for what, actual, declared in (
        ("inputs", len(call.inputs), len(body.inputs)),
        ("outputs", len(call.outputs), len(body.outputs)),
    ):
        if actual > declared:
            raise InvalidModel(
                f"the call must have at most {declared} {what}, as {function.label}; got {actual}",
                location=location(call),
            )


def needed_call(call: Node, function: Function, summary: FunctionSummary) -> str:
    """Why a call cannot be replaced: the body requires a value that the call omits; "" if the call can be replaced."""
    inputs = [*call.inputs, *[None] * len(function.body.inputs)]
    for i, requirement in summary.required.items():
        if inputs[i] is None:
            formal = function.body.inputs[i].name
            return f"it omits input {i} {formal!r}, which {requirement.where} requires if it runs"
    for output, source in zip(call.outputs, summary.outputs, strict=False):
        if output.is_graph_output and source is not None and (source == OMITTED or inputs[source] is None):
            return f"{output.name!r} is an input that it omits, and an output of the graph"
    return ""


def take_imports(model: Model, function: Function, imports: dict[str, int], call: Node) -> None:
    """Add the imports of a function body to those of the caller; raises InvalidModel if a node would be another operator."""
    for node in nodes(function.body):
        domain, own = node.domain, function.opset_imports.get(node.domain)
        if callee(node, model) is not None:
            if own is not None:
                imports.setdefault(domain, own)
            continue
        if own is None:
            what = f"uses {node.op_type} of domain {domain or 'ai.onnx'!r}, which it does not import"
            raise InvalidModel(what, location=location(node))
        imported = imports.setdefault(domain, own)
        if imported != own and not same_operator(node, own, imported):
            what = f"{function.label} imports {domain or 'ai.onnx'} {own}, its caller {imported}"
            cure = "convert the model to one version first, or do not inline it"
            raise InvalidModel(
                f"{what}, where {node.op_type} is another operator; {cure}", location=location(call)
            )


def same_operator(node: Node, first: int, second: int) -> bool:
    """Whether a node's operator is the same in two versions of its domain."""
    left, right = (lookup(node.domain, node.op_type, version) for version in (first, second))
    return left is not None and right is not None and left.since_version == right.since_version


def newest_opset(ir_version: int) -> int:
    """The newest ai.onnx opset of the releases with this IR version or an older one."""
    return max((r.opsets[""] for r in releases() if r.ir_version <= ir_version), default=1)
