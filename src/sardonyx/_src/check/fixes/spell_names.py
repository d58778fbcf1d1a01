"""spell-names: names of nodes, and of values that do not leave the model, become identifiers that no attribute has.

Keeps: names of inputs, outputs and weights, which callers and tools go by; of attributes, which operators define.
"""

from __future__ import annotations

import re

from sardonyx._src.check.bodies import Body, output_names
from sardonyx._src.check.mends import Fault, fix
from sardonyx._src.check.names import is_identifier
from sardonyx._src.check.renaming import is_plain, rename_values
from sardonyx._src.proto.messages import GraphProto, NodeProto

OTHER = re.compile(r"[^A-Za-z0-9_]+")


@fix("SX130")
def spell_names(fault: Fault) -> str:
    body = fault.body
    outside = {name for name in body.writers if body.outer and body.outer.sees(name, body.holder)}
    values: dict[str, str] = {}
    if is_plain(body) and not outside:
        values = {
            name: fault.round.fresh(spelt(name))
            for name in inner_names(fault, body)
            if not is_identifier(name)
        }
        rename_values(body, values)
    nodes = [node for node in body.record.node if node.name and not is_identifier(node.name)]
    for node in nodes:
        node.name = fault.round.fresh(spelt(node.name))
    graph = body.record
    is_renamed = isinstance(graph, GraphProto) and bool(graph.name) and not is_identifier(graph.name)
    if is_renamed:
        graph.name = fault.round.fresh(spelt(graph.name))
    counts = [(len(values), "values"), (len(nodes), "nodes"), (int(is_renamed), "graphs")]
    done = [f"{count} {what if count > 1 else what[:-1]}" for count, what in counts if count]
    return f"renamed {' and '.join(done)}" if done else ""


@fix("SX213")
def rename_like_attribute(fault: Fault) -> str:
    """Renames the value that has the name of an attribute."""
    body, node = fault.body, fault.the(NodeProto)
    name = node.attribute[int(fault.at.partition("[")[2].partition("]")[0])].name
    if not is_plain(body) or body.own(name) is None or name not in inner_names(fault, body):
        return ""
    new = fault.round.fresh(name)
    rename_values(body, {name: new})
    return f"renamed the value {name!r} to {new!r}"


def inner_names(fault: Fault, body: Body) -> list[str]:
    """The values of a body that nobody else goes by: in a nested graph, which passes values by position, all."""
    if body.kind == "nested":
        return list(dict.fromkeys((*body.inputs, *body.initializers, *body.writers)))
    model = fault.document.model
    if body.kind in ("algorithm", "initialization") or (
        body.kind == "main" and model and model.training_info
    ):
        return []  # bindings and training steps go by their names
    border = set(output_names(body.record))
    return [name for name in body.writers if name not in border]


def spelt(name: str) -> str:
    """The name with an underscore for every run of other signs."""
    plain = OTHER.sub("_", name)
    return plain if plain[:1].isalpha() or plain[:1] == "_" else f"_{plain}"
