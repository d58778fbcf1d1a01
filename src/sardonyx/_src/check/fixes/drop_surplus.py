"""drop-surplus: inputs that are too many and empty, and outputs that nothing makes and nobody reads, are dropped.

Leaves: names of inputs that are too many, and outputs that somebody reads.
"""

from __future__ import annotations

from sardonyx._src.check.bodies import Body, output_names
from sardonyx._src.check.mends import Fault, fix
from sardonyx._src.check.reading import bottom_up
from sardonyx._src.proto.messages import NodeProto


@fix("SX203")
def drop_inputs(fault: Fault) -> str:
    node = fault.the(NodeProto)
    schema = fault.body.schema(node)
    most = schema.max_inputs if schema is not None else None
    if most is None or any(node.input[most:]):
        return ""
    dropped, node.input = len(node.input) - most, node.input[:most]
    return f"dropped {dropped} empty inputs"


@fix("SX205")
def drop_outputs(fault: Fault) -> str:
    node = fault.the(NodeProto)
    schema = fault.body.schema(node)
    most = schema.max_outputs if schema is not None else None
    if most is None or any(is_read(fault, name) for name in node.output[most:]):
        return ""
    dropped, node.output = node.output[most:], node.output[:most]
    return f"dropped {', '.join(map(repr, dropped))}, which nobody reads"


@fix("SX208")
def drop_output(fault: Fault) -> str:
    node = fault.the(NodeProto)
    slot = int(fault.at.removeprefix("output[").removesuffix("]"))
    name = node.output[slot]
    if is_read(fault, name):
        return ""
    outputs = [*node.output[:slot], "", *node.output[slot + 1 :]]
    while outputs and not outputs[-1]:
        outputs.pop()
    node.output = outputs
    return f"dropped {name!r}, which nobody reads"


def is_read(fault: Fault, name: str) -> bool:
    """Whether a node, a subgraph, or whoever is around reads what a body makes; bindings and training steps may."""
    body, model = fault.body, fault.document.model
    if not name:
        return False
    if model is not None and model.training_info:
        return True
    return name in reads_of(fault, body)


def reads_of(fault: Fault, body: Body) -> frozenset[str]:
    """All names that the nodes of a body and of its subgraphs read, and that these subgraphs hand out."""
    known = fault.round.reads.get(id(body.record))
    if known is None:
        names: set[str] = set()
        for one, reads in bottom_up(body.record):
            names.update(*reads, output_names(one))
        known = fault.round.reads[id(body.record)] = frozenset(names)
    return known
