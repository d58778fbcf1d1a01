"""Declarations of values: entries of input, output and value_info, between records and IR.

A value has one declaration in the IR, and a file may have several: among inputs or outputs, and in value_info.  Entries
that state less or something else are kept beside the graph (`Graph.declarations`), with the order of value_info.
"Ports" are the inputs or the outputs of a graph.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from sardonyx._src.errors import InvalidModel
from sardonyx._src.io.serde.details import as_stated, has_lost_fields, own_details, restore
from sardonyx._src.io.serde.metadata import metadata_details, metadata_from, metadata_to
from sardonyx._src.io.serde.types import FIRST_IR_WITHOUT_STARS, is_plain, type_details, type_from, type_to
from sardonyx._src.ir import Graph, SparseTensorType, TensorType, Type, Value
from sardonyx._src.ir.details import Declarations, PartKey, Restatement, SourceDetails, Stated
from sardonyx._src.ir.model import Note
from sardonyx._src.ir.walk import values
from sardonyx._src.proto import messages as m


class PlainValueInfo(NamedTuple):
    """An entry with only a name and a type, which replaces its record."""

    name: str
    type: Type  # read from a record for which `is_plain` holds

    @property
    def record(self) -> m.ValueInfoProto:
        return m.ValueInfoProto(name=self.name, type=type_to(self.type))


ValueInfo: TypeAlias = m.ValueInfoProto | PlainValueInfo

# --- from records ----------------------------------------------------------------------------


def describe(value: Value, info: ValueInfo, notes: list[Note], where: str, ir_version: int) -> None:
    """Applies an entry to a value; what the entry does not state stays as it is."""
    if isinstance(info, PlainValueInfo):
        value.type = info.type
        value.details = None
        return
    stated = type_from(info.type, f"{where} {info.name!r}", ir_version)
    if stated is not None:
        value.type = stated
    if info.has("doc_string"):
        value.doc = info.doc_string
    if info.has("metadata_props"):
        value.metadata.update(metadata_from(info.metadata_props, notes, where))
    value.details = value_details(info, stated)


def value_details(info: m.ValueInfoProto, stated: Type | None) -> SourceDetails | None:
    """The details of an entry.  stated: its type; None if it states none, or one that the IR cannot represent."""
    fields = info.__dict__
    if len(fields) == 2 and info.type is not None and is_plain(info.type):
        return None
    parts = list(metadata_details(info))
    others: list[tuple[str, Stated]] = []
    if info.type is not None and stated is None:
        others.append(("type", as_stated(info.type)))
    elif part := type_details(info.type):
        parts.append((PartKey("type"), part))
    return own_details(info, ("name",), parts, others)


def read_declarations(
    graph: Graph,
    record: m.GraphProto,
    infos: Sequence[ValueInfo],
    names: dict[str, Value],
    notes: list[Note],
    where: str,
) -> None:
    """Sets the declarations of a graph that has been read, and notes entries that have no effect.

    infos: the entries of value_info.  names: the values of the graph, by name.
    """
    order = [info.name for info in infos]
    undefined = read_undefined_entries([info for info in infos if info.name not in names], notes, where)
    if len(set(order)) != len(order):
        for name in sorted(name for name, count in Counter(order).items() if count > 1):
            notes.append(Note(where, f"value_info lists {name!r} several times: the last entry applies"))
        order = list(dict.fromkeys(order))
    restated = read_restated(graph, infos, names) if order else {}
    inputs = read_ports(
        graph.inputs, [i if i.type is None or not is_plain(i.type) else None for i in record.input]
    )
    outputs = read_ports(graph.outputs, record.output)
    if order or inputs or outputs:
        graph.declarations = Declarations(tuple(order), restated, inputs, outputs, undefined)


def read_undefined_entries(infos: Sequence[ValueInfo], notes: list[Note], where: str) -> dict[str, Value]:
    """The valid entries for names that the graph does not define, as values by name; notes all such entries."""
    result: dict[str, Value] = {}
    for info in infos:
        fate = "kept, without effect"
        try:
            result[info.name] = stated_value(info)
        except InvalidModel as error:
            fate = f"ignored, {error.why}"
        notes.append(Note(where, f"value_info {info.name!r} names no value of the graph: {fate}"))
    return result


def read_ports(ports: Sequence[Value], infos: Sequence[m.ValueInfoProto | None]) -> dict[int, Restatement]:
    """Entries of inputs or outputs that differ from the declaration of their value, by position."""
    return {
        i: restatement(value, info)
        for i, (value, info) in enumerate(zip(ports, infos, strict=True))
        if info is not None and value.name == info.name and value_info(value) != info
    }


def read_restated(
    graph: Graph, infos: Sequence[ValueInfo], names: dict[str, Value]
) -> dict[str, Restatement]:
    """Entries of value_info, by name, that differ from the declaration of their value.

    These may be entries of inputs and outputs, entries of initializers without a type, and entries with only a name.
    """
    ports = {*graph.inputs, *graph.outputs}
    result = {}
    for info in infos:
        if (value := names.get(info.name)) is None:
            continue
        if value in ports:
            differs = value_info(value) != (info.record if isinstance(info, PlainValueInfo) else info)
        elif isinstance(info, PlainValueInfo):
            differs = False
        elif value.type is None:
            differs = not is_described(value)
        else:
            differs = value.initializer is not None and type_from(info.type, "") is None
        if differs:
            result[info.name] = restatement(value, info)
    return result


def restatement(value: Value, info: ValueInfo) -> Restatement:
    return Restatement(value.name, stated_value(info), value.type)


def stated_value(info: ValueInfo) -> Value:
    """A value that belongs to no graph, as an entry declares it."""
    stated = Value(info.name)
    describe(stated, info, [], "", FIRST_IR_WITHOUT_STARS)
    return stated


# --- to records ------------------------------------------------------------------------------


def value_info(value: Value) -> m.ValueInfoProto:
    """The entry of a value."""
    return entry_of(value, value.name, value.type)


def entry_of(value: Value, name: str, type: Type | None) -> m.ValueInfoProto:
    """An entry with documentation, metadata and details of a value, under this name and with this type."""
    record = m.ValueInfoProto(name=name)
    if type is not None:
        record.type = type_to(type)
    if value.doc:
        record.doc_string = value.doc
    if value.has_metadata:
        record.metadata_props = metadata_to(value.metadata)
    restore(record, value.details)
    return record


def restated_info(value: Value, other: Restatement) -> m.ValueInfoProto:
    """The entry of a restatement, with its own type unless the type of the value was changed after reading."""
    return entry_of(
        other.stated, value.name, other.stated.type if value.type == other.read_type else value.type
    )


def input_infos(graph: Graph) -> list[m.ValueInfoProto]:
    """The entries of the inputs."""
    return port_infos(graph.inputs, graph.declarations.inputs if graph.declarations else {})


def output_infos(graph: Graph) -> list[m.ValueInfoProto]:
    """The entries of the outputs."""
    return port_infos(graph.outputs, graph.declarations.outputs if graph.declarations else {})


def port_infos(ports: Sequence[Value], restated: Mapping[int, Restatement]) -> list[m.ValueInfoProto]:
    infos = [value_info(v) for v in ports]
    for i, other in restated.items():
        if i < len(infos) and ports[i].name == other.name:
            infos[i] = restated_info(ports[i], other)
    return infos


def value_infos(graph: Graph) -> list[m.ValueInfoProto]:
    """The value_info of a graph: the entries of its file, then values described since then, in graph order."""
    declared = declared_infos(graph)
    ports = {*graph.inputs, *graph.outputs}
    others = [v for v in values(graph) if v.name not in declared and v not in ports and is_described(v)]
    return [*declared.values(), *map(value_info, others)]


def declared_infos(graph: Graph) -> dict[str, m.ValueInfoProto]:
    """The entries of the file's value_info, by name, without those of values that no longer exist or need no entry."""
    if graph.declarations is None or not graph.declarations.order:
        return {}
    named = {value.name: value for value in values(graph)}
    ports = {*graph.inputs, *graph.outputs}
    result = {}
    for name in graph.declarations.order:
        if (value := named.get(name)) is None:
            if entry := graph.declarations.undefined.get(name):
                result[name] = value_info(entry)
            continue
        if other := graph.declarations.restated.get(name):
            result[name] = restated_info(value, other)
        elif value in ports or value.initializer is not None or is_described(value):
            result[name] = value_info(value)
    return result


def is_described(value: Value) -> bool:
    """Whether a value needs a value_info: it has more than a name or, for an initializer, more than its tensor's type."""
    if value.doc or value.has_metadata or value.details is not None:
        return True
    tensor = value.initializer
    if tensor is None:
        return value.type is not None
    return value.type not in (
        TensorType(tensor.dtype, tensor.shape),
        SparseTensorType(tensor.dtype, tensor.shape),
    )


def function_value_infos(body: Graph, ir_version: int) -> list[m.ValueInfoProto]:
    """The value_info of a function, which declares inputs and outputs too.

    Below IR version 10 functions have none: only the entries of the file are written.
    """
    declared = declared_infos(body)
    if ir_version < 10:
        return list(declared.values())
    ports = [v for v in dict.fromkeys((*body.inputs, *body.outputs)) if v.name not in declared]
    inner = [v for v in values(body) if v.name not in declared and v not in ports]
    added = [value_info(v) for v in (*ports, *inner) if is_described(v)]
    return [*declared.values(), *added]


def values_with_lost_fields(graph: Graph) -> Iterator[Value]:
    """The values with unknown fields of their type or its dims that cannot be written, since the type was changed."""
    restated: dict[str, list[Restatement]] = {}
    if graph.declarations is not None:
        entries = graph.declarations
        for other in (*entries.restated.values(), *entries.inputs.values(), *entries.outputs.values()):
            restated.setdefault(other.name, []).append(other)
    for value in values(graph):
        entry = value.details is not None and has_lost_type_fields(value_info(value), value.details)
        if entry or any(
            other.stated.details is not None
            and has_lost_type_fields(restated_info(value, other), other.stated.details)
            for other in restated.get(value.name, ())
        ):
            yield value


def has_lost_type_fields(record: m.ValueInfoProto, details: SourceDetails) -> bool:
    parts = tuple((key, part) for key, part in details.parts if key.field == "type")
    return bool(parts) and has_lost_fields(record, SourceDetails(parts=parts))
