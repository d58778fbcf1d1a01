"""The steps of a merge, each on copies of the two models."""

from __future__ import annotations

from collections.abc import Iterable

from sardonyx._src.errors import InvalidModel
from sardonyx._src.io import to_proto
from sardonyx._src.ir.clone import Copier, clone
from sardonyx._src.ir.graph import FunctionKey, Model, Node, Note, Value
from sardonyx._src.ir.walk import nodes
from sardonyx._src.proto.binary import encode
from sardonyx._src.rewrite.tools.calls import callees, main_graphs
from sardonyx._src.rewrite.tools.merge.apart import keep_dims_apart, keep_names_apart
from sardonyx._src.rewrite.tools.merge.connections import connections, unify
from sardonyx._src.rewrite.tools.relabel import rename_functions
from sardonyx._src.schema import latest, versions

DEFAULT_PREFIX = "second_"


def merge(
    first: Model,
    second: Model,
    connect: Iterable[tuple[str, str]] | None = None,
    *,
    prefix: str = DEFAULT_PREFIX,
    prefix_public: bool = False,
    keep_connected: bool = False,
) -> Model:
    """One model of two, in which outputs of the first feed inputs of the second.

    `connect`: pairs of an output and an input; by default those of equal names, or the only output and the only input
    without default.  Outputs that are connected are outputs no more, unless `keep_connected`.  Types must fit, and
    dims that meet become one; a dimension variable of the second model that only has the name of another gets a new
    one.  Inner names of the second model that are taken get the prefix; names of its inputs and outputs only with
    `prefix_public`.  Equal functions are kept once, others of one name get names of their own.  The IR version is the
    higher one, metadata are put together; where both models say something, the first one's counts, with a note.

    Raises InputError for names that cannot be connected or are taken; InvalidModel where types do not fit, where
    operator sets are imported in different versions, and where both models have training steps.
    """
    a, b = clone(first), clone(second)
    connected = connections(a, b, connect)
    if a.training and b.training:
        raise InvalidModel("both models have training steps; remove one's", location="training_info")
    merge_imports(a, b)
    keep_dims_apart(a, b)
    unify(a, b, connected)
    merge_functions(a, b)
    merge_configurations(a, b)
    kept = [v for v in a.graph.outputs if keep_connected or v not in connected.values()]
    keep_names_apart(a, b, connected, kept, prefix, prefix_public=prefix_public)
    graft(a, b, connected, kept)
    merge_texts(a, b)
    return a


def merge_imports(a: Model, b: Model) -> None:
    """Puts imports together; those of domains in which there are only functions need not agree."""
    for domain, version in b.opset_imports.items():
        there = a.opset_imports.get(domain, version)
        if there != version and (has_operators(a, domain) or has_operators(b, domain)):
            newer = max(there, version)
            option = f"--domain {domain}={newer}" if domain else f"--opset {newer}"
            what = f"the first model imports {domain or 'ai.onnx'} {there}, the second {version}"
            raise InvalidModel(
                f"{what}; bring both to one with `sardonyx convert {option}`", location="opset_import"
            )
        a.opset_imports[domain] = max(there, version)
    a.ir_version = max(a.ir_version, b.ir_version)


def has_operators(model: Model, domain: str) -> bool:
    """Whether nodes of the domain call anything else than the model's own functions."""
    keys = model.functions
    return any(
        node.domain == domain and (domain, node.op_type, node.overload) not in keys
        for graph in main_graphs(model)
        for node in nodes(graph)
    )


def merge_functions(a: Model, b: Model) -> None:
    """Puts functions together: equal ones once; one that differs, or calls one that does, gets a new name."""
    differing = {key for key in b.functions if key in a.functions and text(a, key) != text(b, key)}
    grown = True
    while grown:
        calling = {
            key
            for key in b.functions.keys() & a.functions.keys() - differing
            if any(callee.key in differing for callee in callees(b.functions[key].body, b))
        }
        differing |= calling
        grown = bool(calling)
    taken = {*a.functions, *b.functions}
    changes: dict[FunctionKey, FunctionKey] = {}
    for key in sorted(differing):
        changes[key] = free_key(key, taken)
        taken.add(changes[key])
        what = f"{b.functions[key].label} is another function in the second model: {changes[key][1]} there"
        a.notes.append(Note("functions", what))
    rename_functions(b, changes)
    for key, function in b.functions.items():
        a.functions.setdefault(key, function)


def text(model: Model, key: FunctionKey) -> bytes:
    return encode(to_proto.function(model.functions[key], to_proto.inline))


def free_key(key: FunctionKey, taken: set[FunctionKey]) -> FunctionKey:
    domain, name, overload = key
    number = 1
    while (found := (domain, f"{name}_{number}", overload)) in taken or versions(domain, found[1]):
        number += 1
    return found


def merge_configurations(a: Model, b: Model) -> None:
    """Puts device configurations together; one of the second model that differs from one of its name gets a new name."""
    known = {one.name: one for one in a.configurations}
    for one in b.configurations:
        old = one.name
        if known.get(old) == one:
            continue
        number = 1
        while one.name in known:
            one.name = f"{old}_{number}"
            number += 1
        known[one.name] = one
        a.configurations.append(one)
        for node in (node for graph in main_graphs(b) for node in nodes(graph) if one.name != old):
            for devices in node.device_configurations:
                if devices.configuration_id == old:
                    devices.configuration_id = one.name


def graft(a: Model, b: Model, connected: dict[Value, Value], kept: list[Value]) -> None:
    """Puts the second model's graph behind the first's."""
    copier = Copier(connected)
    graph = a.graph
    for value in b.graph.inputs:
        if value not in connected:
            graph.add_input(copier.value(value))
    for value in b.graph.initializers.values():
        if value not in connected:
            graph.add_initializer(copier.found(value) if value in copier.values else copier.value(value))
    for node in b.graph.nodes:
        graph.append(copier.node(node))
    results = [handed_on(a, v, connected) or copier.found(v) for v in b.graph.outputs]
    graph.outputs = list(dict.fromkeys((*kept, *results)))
    graph.quantization_annotations += [copier.annotation(one) for one in b.graph.quantization_annotations]
    a.training += [copier.training(step) for step in b.training]


def handed_on(a: Model, value: Value, connected: dict[Value, Value]) -> Value | None:
    """For an output of the second model that is one of its connected inputs, a value under the output's name."""
    given = connected.get(value)
    if given is None or given.name == value.name:
        return given
    a.opset_imports.setdefault("", latest(""))
    node = a.graph.append(Node("Identity", [given], [Value(value.name, given.type)]))
    return node.outputs[0]


def merge_texts(a: Model, b: Model) -> None:
    """Puts metadata and texts together; where both models say something the first one's counts."""
    for mine, other, where in (
        (a.metadata, b.metadata, "metadata_props"),
        (a.graph.metadata, b.graph.metadata, "graph.metadata_props"),
    ):
        for key, value in other.items():
            if mine.setdefault(key, value) != value:
                a.notes.append(Note(where, f"{key!r} is {value!r} in the second model: left out"))
    for one, two, where in ((a, b, "doc_string"), (a.graph, b.graph, "graph.doc_string")):
        if one.doc and two.doc and one.doc != two.doc:
            a.notes.append(Note(where, "the second model's is left out"))
        one.doc = one.doc or two.doc
    for unknown, where in ((b.unknown, ""), (b.graph.unknown, "graph")):
        if unknown:
            a.notes.append(Note(where, "fields of the second model that no table knows are left out"))
