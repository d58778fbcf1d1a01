"""Liveness: the names that are read, and the nodes that no output depends on."""

from __future__ import annotations

from collections.abc import Iterable

from sardonyx._src.check.analysis.reads import bottom_up, subgraphs
from sardonyx._src.check.analysis.training import BINDINGS
from sardonyx._src.check.engine.body import BodyScope, output_names
from sardonyx._src.check.engine.document import Document
from sardonyx._src.proto import messages as m


def is_fully_defined(body: BodyScope) -> bool:
    """Whether every name that the body's nodes read is defined.

    If one is not, it may be a misspelling of a name that therefore looks unused.
    """
    return all(
        body.is_visible(name, i) or body.later_definition(name) is not None
        for i, _, name in body.unresolved_reads
    )


def read_in(body: BodyScope, document: Document) -> frozenset[str]:
    """The names that nodes, outputs or annotations of the body read, including nested graphs and training steps."""
    if body.read is None:
        names = names_read(body.record) if body.holds_graphs else names_outside_nodes(body.record, body.reads)
        if document.model is not None and body.kind in ("main", "algorithm"):
            for step in document.model.training_info:
                names |= names_of_training(step)
        body.read = frozenset(names)
    return body.read


def names_read(record: m.GraphProto | m.FunctionProto) -> set[str]:
    """Every name that is read in a body or in the graphs nested in it."""
    names: set[str] = set()
    stack: list[m.GraphProto | m.FunctionProto] = [record]
    while stack:
        record = stack.pop()
        names |= names_outside_nodes(record)
        for node in record.node:
            names.update(node.__dict__.get("input") or ())
            stack += [graph for _, graph in subgraphs(node)]
    return names


def names_outside_nodes(record: m.GraphProto | m.FunctionProto, others: Iterable[str] = ()) -> set[str]:
    """The names that the outputs and annotations of a body read, together with the names in `others`."""
    names = {*others, *output_names(record)}
    if isinstance(record, m.GraphProto):
        for annotation in record.quantization_annotation:
            names.update(entry.value for entry in annotation.quant_parameter_tensor_names)
    return names


def names_of_training(step: m.TrainingInfoProto) -> set[str]:
    """The names that a training step reads, binds or assigns to."""
    names: set[str] = set()
    if step.algorithm is not None:
        names = names_read(step.algorithm)
    for field in BINDINGS:
        for binding in getattr(step, field):
            names |= {binding.key, binding.value}
    return names


def dead_nodes(body: BodyScope, document: Document) -> list[int]:
    """The nodes that no output of the body depends on.

    A node of an unknown operator counts as live, since it may have side effects.
    """
    read = read_in(body, document)
    unread = body.producers.keys() - read
    nodes = body.record.node
    if not any(unread.issuperset(filter(None, nodes[body.producers[name][0]].output)) for name in unread):
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
