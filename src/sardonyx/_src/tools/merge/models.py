"""The merge of two models, on copies."""

from __future__ import annotations

from collections.abc import Iterable

from sardonyx._src.errors import InvalidModel
from sardonyx._src.io.serde import to_proto
from sardonyx._src.ir import Model, Node, Value
from sardonyx._src.ir.copier import Copier
from sardonyx._src.ir.details import unknown_fields
from sardonyx._src.ir.model import FunctionKey, Note, clone, clone_training
from sardonyx._src.ir.names import FreshNames, first_free
from sardonyx._src.ir.walk import nodes
from sardonyx._src.proto.binary import encode
from sardonyx._src.schema import latest, versions
from sardonyx._src.tools.calls import callees, main_graphs
from sardonyx._src.tools.merge.connections import connections, unify
from sardonyx._src.tools.merge.name_conflicts import rename_shared_dims, rename_shared_names
from sardonyx._src.tools.relabel import rename_functions

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
    """Join two models: outputs of the first feed inputs of the second.

    connect: pairs of an output and an input; by default those with equal names, or the only output and the only input
        without default.  Types must be compatible, and connected dims are unified.
    prefix: is put before those inner names of the second model that conflict.
    prefix_public: whether conflicting names of inputs and outputs of the second model get the prefix, too.
    keep_connected: whether connected outputs stay outputs.

    A dimension variable of the second model is renamed if the first model uses its name.  Equal functions are merged;
    different functions of one name are renamed.  The IR version is the higher of the two.  Metadata are merged; in conflicts
    the first model wins, with a note.

    Raises InputError for names that cannot be connected or conflict; InvalidModel for incompatible types, operator
    sets imported in different versions, and if both models have training steps.
    """
    a, b = clone(first), clone(second)
    connected = connections(a, b, connect)
    if a.training and b.training:
        raise InvalidModel("both models have training steps; remove one's", location="training_info")
    merge_imports(a, b)
    rename_shared_dims(a, b)
    unify(a, b, connected)
    merge_functions(a, b)
    merge_configurations(a, b)
    outputs = [v for v in a.graph.outputs if keep_connected or v not in connected.values()]
    rename_shared_names(a, b, connected, outputs, prefix, prefix_public=prefix_public)
    graft(a, b, connected, outputs)
    merge_texts(a, b)
    return a


def merge_imports(a: Model, b: Model) -> None:
    """Merge imports; versions must agree, except for domains that contain only functions."""
    for domain, version in b.opset_imports.items():
        imported = a.opset_imports.get(domain, version)
        if imported != version and (has_operators(a, domain) or has_operators(b, domain)):
            newer = max(imported, version)
            option = f"--domain {domain}={newer}" if domain else f"--opset {newer}"
            what = f"the first model imports {domain or 'ai.onnx'} {imported}, the second {version}"
            raise InvalidModel(
                f"{what}; bring both to one with `sardonyx convert {option}`", location="opset_import"
            )
        a.opset_imports[domain] = max(imported, version)
    a.ir_version = max(a.ir_version, b.ir_version)


def has_operators(model: Model, domain: str) -> bool:
    """Whether some node of the domain is not a call of a model-local function."""
    keys = model.functions
    return any(
        node.domain == domain and (domain, node.op_type, node.overload) not in keys
        for graph in main_graphs(model)
        for node in nodes(graph)
    )


def merge_functions(a: Model, b: Model) -> None:
    """Merge functions of equal name: equal ones become one; one that differs, or calls one that differs, is renamed."""
    differing = {
        key
        for key in b.functions
        if key in a.functions and serialize_function(a, key) != serialize_function(b, key)
    }
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
        what = f"{b.functions[key].label} differs in the second model: renamed to {changes[key][1]}"
        a.notes.append(Note("functions", what))
    rename_functions(b, changes)
    for key, function in b.functions.items():
        a.functions.setdefault(key, function)


def serialize_function(model: Model, key: FunctionKey) -> bytes:
    return encode(to_proto.function(model.functions[key], to_proto.inline))


def free_key(key: FunctionKey, taken: set[FunctionKey]) -> FunctionKey:
    domain, name, overload = key
    free = first_free(name, lambda n: (domain, n, overload) in taken or bool(versions(domain, n)))
    return domain, free, overload


def merge_configurations(a: Model, b: Model) -> None:
    """Merge device configurations; one of the second model that conflicts is renamed."""
    known = {configuration.name: configuration for configuration in a.configurations}
    for configuration in b.configurations:
        old = configuration.name
        if known.get(old) == configuration:
            continue
        configuration.name = FreshNames(known).fresh(old)
        known[configuration.name] = configuration
        a.configurations.append(configuration)
        for node in (node for graph in main_graphs(b) for node in nodes(graph) if configuration.name != old):
            for devices in node.device_configurations:
                if devices.configuration_id == old:
                    devices.configuration_id = configuration.name


def graft(a: Model, b: Model, connected: dict[Value, Value], outputs: list[Value]) -> None:
    """Append the second model's graph to the first's."""
    copier = Copier(connected)
    graph = a.graph
    for value in b.graph.inputs:
        if value not in connected:
            graph.add_input(copier.value(value))
    for value in b.graph.initializers.values():
        if value not in connected:
            graph.add_initializer(copier.resolve(value) if value in copier.values else copier.value(value))
    for node in b.graph.nodes:
        graph.append(copier.node(node))
    results = [forward_output(a, v, connected) or copier.resolve(v) for v in b.graph.outputs]
    graph.outputs = list(dict.fromkeys((*outputs, *results)))
    graph.quantization_annotations += [
        copier.annotation(annotation) for annotation in b.graph.quantization_annotations
    ]
    a.training += [clone_training(step, copier) for step in b.training]


def forward_output(a: Model, value: Value, connected: dict[Value, Value]) -> Value | None:
    """The value for an output of the second model that is one of its connected inputs: a value with the output's name."""
    source = connected.get(value)
    if source is None or source.name == value.name:
        return source
    a.opset_imports.setdefault("", latest(""))
    node = a.graph.append(Node("Identity", [source], [Value(value.name, source.type)]))
    return node.outputs[0]


def merge_texts(a: Model, b: Model) -> None:
    """Merge metadata and doc strings; in conflicts the first model wins."""
    for own, other, where in (
        (a.metadata, b.metadata, "metadata_props"),
        (a.graph.metadata, b.graph.metadata, "graph.metadata_props"),
    ):
        for key, value in other.items():
            if own.setdefault(key, value) != value:
                a.notes.append(Note(where, f"{key!r} is {value!r} in the second model: dropped"))
    for first, second, where in ((a, b, "doc_string"), (a.graph, b.graph, "graph.doc_string")):
        if first.doc and second.doc and first.doc != second.doc:
            a.notes.append(Note(where, "the second model's is dropped"))
        first.doc = first.doc or second.doc
    for details, where in ((b.details, ""), (b.graph.details, "graph")):
        if unknown_fields(details):
            a.notes.append(Note(where, "unknown fields of the second model are dropped"))
