"""What is used: the names that something reads, and the nodes that lead to nothing."""

from __future__ import annotations

from sardonyx._src.check.bodies import Body, output_names
from sardonyx._src.check.context import Document
from sardonyx._src.check.reading import bottom_up, subgraphs
from sardonyx._src.check.training import BINDINGS
from sardonyx._src.proto import messages as m


def is_whole(body: Body) -> bool:
    """Whether every name that the body's nodes read is defined: where one is misspelt, another seems to be unused."""
    return all(body.sees(name, i) or body.later(name) is not None for i, _, name in body.unseen)


def read_in(body: Body, document: Document) -> frozenset[str]:
    """The names that nodes, outputs or annotations of the body read, nested graphs and training included."""
    if body.read is None:
        names = names_read(body.record, body.holds_graphs)
        if document.model is not None and body.kind in ("main", "algorithm"):
            for step in document.model.training_info:
                names |= names_of_training(step)
        body.read = frozenset(names)
    return body.read


def names_read(record: m.GraphProto | m.FunctionProto, holds_graphs: bool = True) -> set[str]:
    """Every name that is read in a body or in the graphs nested in it."""
    names: set[str] = set()
    stack: list[m.GraphProto | m.FunctionProto] = [record]
    while stack:
        one = stack.pop()
        names.update(output_names(one))
        for node in one.node:
            names.update(node.__dict__.get("input") or ())
            if holds_graphs:
                stack += [graph for _, graph in subgraphs(node)]
        if isinstance(one, m.GraphProto):
            for annotation in one.quantization_annotation:
                names.update(entry.value for entry in annotation.quant_parameter_tensor_names)
    return names


def names_of_training(step: m.TrainingInfoProto) -> set[str]:
    """The names that a training step reads, binds or assigns to."""
    names: set[str] = set()
    if step.algorithm is not None:
        names = names_read(step.algorithm)
    for field in BINDINGS:
        for one in getattr(step, field):
            names |= {one.key, one.value}
    return names


def dead_nodes(body: Body, document: Document) -> list[int]:
    """The nodes of which no output leads to an output of the body.

    A node of an unknown operator counts as used: it may do something besides.
    """
    read = read_in(body, document)
    unread = body.writers.keys() - read
    nodes = body.record.node
    if not any(unread.issuperset(filter(None, nodes[body.writers[name][0]].output)) for name in unread):
        return []
    *_, (_, reads) = bottom_up(body.record)
    needed = set(read) - set().union(*reads)
    dead: list[int] = []
    for i in range(len(nodes) - 1, -1, -1):
        node = nodes[i]
        known = body.schema(node) is not None or body.callee(node) is not None
        if known and needed.isdisjoint(node.output):
            dead.append(i)
        else:
            needed |= reads[i]
    return dead[::-1]
