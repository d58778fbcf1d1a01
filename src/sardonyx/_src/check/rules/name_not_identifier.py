"""SX130 name-not-identifier: names are no identifiers of C90.

Clause: IR.md, "Names Within a Graph"
Catalogue: NAM-01
Why:    tools that make code of models need names that are letters, digits and underscores; others do not mind.
Bad:    g (float[2] x) => (float[2] "y/out") { "y/out" = Abs(x) }
Good:   g (float[2] x) => (float[2] y_out) { y_out = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.bodies import Body, initializer_names, input_names
from sardonyx._src.check.context import Context
from sardonyx._src.check.names import is_identifier
from sardonyx._src.proto.messages import FunctionProto, GraphProto
from sardonyx._src.proto.record import brief


@rule("SX130", "warning", visits=(GraphProto, FunctionProto), unless="SX002")
def name_not_identifier(graph: GraphProto | FunctionProto, context: Context) -> Iterator[Finding]:
    """Once for each body: exporters break this rule with every name or with none."""
    assert context.body is not None, "a graph or function has a body"
    if all_are_identifiers(context.body):
        return
    others: set[str] = set()
    first = None
    for at, name in names_in(graph):
        if name and not is_identifier(name):
            first = first or (at, name)
            others.add(name)
    if first is not None:
        more = f", nor are {len(others) - 1} other names here" if len(others) > 1 else ""
        says = f"{brief(first[1])} is no identifier{more}"
        yield Finding(first[0], says, "use letters, digits and underscores, a digit not first")


def all_are_identifiers(body: Body) -> bool:
    """The same in fewer words, which most bodies take."""
    names = [body.record.name, *body.writers, *body.inputs, *body.initializers]
    names += body.node_names
    names += body.attribute_names
    if isinstance(body.record, FunctionProto):
        names += [*body.record.attribute, *(one.name for one in body.record.attribute_proto)]
    return "".join(names).isascii() and all(map(str.isidentifier, filter(None, names)))


def names_in(graph: GraphProto | FunctionProto) -> Iterator[tuple[str, str]]:
    """Path and name of all that has one: the body, its values, nodes, and their attributes."""
    yield "name", graph.name
    for i, node in enumerate(graph.node):
        values = node.__dict__
        yield f"node[{i}].name", values.get("name", "")
        for slot, name in enumerate(values.get("output") or ()):
            yield f"node[{i}].output[{slot}]", name
        for j, one in enumerate(values.get("attribute") or ()):
            yield f"node[{i}].attribute[{j}].name", one.name
    for i, name in enumerate(input_names(graph)):
        yield f"input[{i}]", name
    if isinstance(graph, GraphProto):
        for where, name in initializer_names(graph):
            yield str(where), name
    else:
        yield from ((f"attribute[{i}]", name) for i, name in enumerate(graph.attribute))
        yield from ((f"attribute_proto[{i}].name", one.name) for i, one in enumerate(graph.attribute_proto))
