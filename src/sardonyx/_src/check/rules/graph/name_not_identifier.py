"""SX130 name-not-identifier: names are not C90 identifiers.

Clause: IR.md, "Names Within a Graph"
Catalogue: NAM-01
Why:    tools that generate code from models need names of letters, digits and underscores; others accept any name.
Bad:    g (float[2] x) => (float[2] "y/out") { "y/out" = Abs(x) }
Good:   g (float[2] x) => (float[2] y_out) { y_out = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.engine.body import BodyScope, initializer_names, input_names
from sardonyx._src.check.records.names import is_identifier
from sardonyx._src.proto.messages import FunctionProto, GraphProto
from sardonyx._src.proto.record import brief


@rule("SX130", "warning", visits=(GraphProto, FunctionProto), suppressed_by="SX002", group="strict")
def check_name_not_identifier(graph: GraphProto | FunctionProto, context: RuleContext) -> Iterator[Finding]:
    """Reported once per body, since exporters violate this rule with every name or with none."""
    assert context.body is not None, "a graph or function has a body"
    if all_are_identifiers(context.body):
        return
    others: set[str] = set()
    first = None
    for path, name in names_in(graph):
        if name and not is_identifier(name):
            first = first or (path, name)
            others.add(name)
    if first is not None:
        more = f", nor are {len(others) - 1} other names here" if len(others) > 1 else ""
        message = f"{brief(first[1])} is not an identifier{more}"
        yield Finding(first[0], message, "use letters, digits and underscores, not beginning with a digit")


def all_are_identifiers(body: BodyScope) -> bool:
    """A fast check of all names, which most bodies pass."""
    names = [body.record.name, *body.producers, *body.inputs, *body.initializers]
    names += body.node_names
    names += body.attribute_names
    if isinstance(body.record, FunctionProto):
        names += [*body.record.attribute, *(attribute.name for attribute in body.record.attribute_proto)]
    return "".join(names).isascii() and all(map(str.isidentifier, filter(None, names)))


def names_in(graph: GraphProto | FunctionProto) -> Iterator[tuple[str, str]]:
    """Path and name of the body, its values, its nodes and their attributes."""
    yield "name", graph.name
    for i, node in enumerate(graph.node):
        values = node.__dict__
        yield f"node[{i}].name", values.get("name", "")
        for slot, name in enumerate(values.get("output") or ()):
            yield f"node[{i}].output[{slot}]", name
        for j, attribute in enumerate(values.get("attribute") or ()):
            yield f"node[{i}].attribute[{j}].name", attribute.name
    for i, name in enumerate(input_names(graph)):
        yield f"input[{i}]", name
    if isinstance(graph, GraphProto):
        for where, name in initializer_names(graph):
            yield str(where), name
    else:
        yield from ((f"attribute[{i}]", name) for i, name in enumerate(graph.attribute))
        yield from (
            (f"attribute_proto[{i}].name", attribute.name)
            for i, attribute in enumerate(graph.attribute_proto)
        )
