"""spell-names: turns names of nodes and internal values into identifiers that no attribute has.

Keeps: names of inputs, outputs and weights, which callers and tools use; of attributes, which operators define.
"""

from __future__ import annotations

import re

from sardonyx._src.check.engine.body import BodyScope, output_names
from sardonyx._src.check.fixing.api import Violation, fix
from sardonyx._src.check.fixing.renaming import has_unique_names, rename_values
from sardonyx._src.check.records.names import is_identifier
from sardonyx._src.proto.messages import GraphProto, NodeProto

NON_IDENTIFIER = re.compile(r"[^A-Za-z0-9_]+")


@fix("SX130")
def spell_names(violation: Violation) -> str:
    body = violation.body
    outside = {name for name in body.producers if body.outer and body.outer.is_visible(name, body.outer_node)}
    values: dict[str, str] = {}
    if has_unique_names(body) and not outside:
        values = {
            name: violation.fix_pass.fresh(to_identifier(name))
            for name in inner_names(violation, body)
            if not is_identifier(name)
        }
        rename_values(body, values)
    nodes = [node for node in body.record.node if node.name and not is_identifier(node.name)]
    for node in nodes:
        node.name = violation.fix_pass.fresh(to_identifier(node.name))
    graph = body.record
    is_renamed = isinstance(graph, GraphProto) and bool(graph.name) and not is_identifier(graph.name)
    if is_renamed:
        graph.name = violation.fix_pass.fresh(to_identifier(graph.name))
    counts = [(len(values), "values"), (len(nodes), "nodes"), (int(is_renamed), "graphs")]
    descriptions = [f"{count} {what if count > 1 else what[:-1]}" for count, what in counts if count]
    return f"renamed {' and '.join(descriptions)}" if descriptions else ""


@fix("SX213")
def rename_like_attribute(violation: Violation) -> str:
    """Renames the value that has the name of an attribute."""
    body, node = violation.body, violation.visited_record(NodeProto)
    name = node.attribute[int(violation.path.partition("[")[2].partition("]")[0])].name
    if (
        not has_unique_names(body)
        or body.definition(name) is None
        or name not in inner_names(violation, body)
    ):
        return ""
    new = violation.fix_pass.fresh(name)
    rename_values(body, {name: new})
    return f"renamed the value {name!r} to {new!r}"


def inner_names(violation: Violation, body: BodyScope) -> list[str]:
    """The values of a body that are not referred to from outside; all of a nested graph, which passes values by position."""
    if body.kind == "nested":
        return list(dict.fromkeys((*body.inputs, *body.initializers, *body.producers)))
    model = violation.document.model
    if body.kind in ("algorithm", "initialization") or (
        body.kind == "main" and model and model.training_info
    ):
        return []  # bindings and training steps refer to values by name
    border = set(output_names(body.record))
    return [name for name in body.producers if name not in border]


def to_identifier(name: str) -> str:
    """The name with every run of other characters replaced by an underscore."""
    plain = NON_IDENTIFIER.sub("_", name)
    return plain if plain[:1].isalpha() or plain[:1] == "_" else f"_{plain}"
