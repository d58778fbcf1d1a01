"""drop-surplus: drops surplus inputs that are empty, and surplus outputs that are not read.

Leaves: surplus inputs with names, and outputs that are read.
"""

from __future__ import annotations

from sardonyx._src.check.analysis.reads import bottom_up
from sardonyx._src.check.engine.body import BodyScope, output_names
from sardonyx._src.check.fixing.api import Violation, fix
from sardonyx._src.proto.messages import NodeProto


@fix("SX203")
def drop_inputs(violation: Violation) -> str:
    node = violation.visited_record(NodeProto)
    schema = violation.body.schema(node)
    limit = schema.max_inputs if schema is not None else None
    if limit is None or any(node.input[limit:]):
        return ""
    dropped, node.input = len(node.input) - limit, node.input[:limit]
    return f"dropped {dropped} empty inputs"


@fix("SX205")
def drop_outputs(violation: Violation) -> str:
    node = violation.visited_record(NodeProto)
    schema = violation.body.schema(node)
    limit = schema.max_outputs if schema is not None else None
    if limit is None or any(is_read(violation, name) for name in node.output[limit:]):
        return ""
    dropped, node.output = node.output[limit:], node.output[:limit]
    return f"dropped {', '.join(map(repr, dropped))}: not read anywhere"


@fix("SX208")
def drop_output(violation: Violation) -> str:
    node = violation.visited_record(NodeProto)
    slot = int(violation.path.removeprefix("output[").removesuffix("]"))
    name = node.output[slot]
    if is_read(violation, name):
        return ""
    outputs = [*node.output[:slot], "", *node.output[slot + 1 :]]
    while outputs and not outputs[-1]:
        outputs.pop()
    node.output = outputs
    return f"dropped {name!r}: not read anywhere"


def is_read(violation: Violation, name: str) -> bool:
    """Whether a value of a body may be read by a node, a subgraph, an output, a binding or a training step."""
    body, model = violation.body, violation.document.model
    if not name:
        return False
    if model is not None and model.training_info:
        return True
    return name in reads_of(violation, body)


def reads_of(violation: Violation, body: BodyScope) -> frozenset[str]:
    """All names that the nodes of a body and its subgraphs read, and the outputs of these subgraphs."""
    known = violation.fix_pass.reads.get(id(body.record))
    if known is None:
        names: set[str] = set()
        for inner, reads in bottom_up(body.record):
            names.update(*reads, output_names(inner))
        known = violation.fix_pass.reads[id(body.record)] = frozenset(names)
    return known
