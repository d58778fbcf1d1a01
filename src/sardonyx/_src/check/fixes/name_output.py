"""name-output: names a required output of a node."""

from __future__ import annotations

from sardonyx._src.check.fixing.api import Violation, fix
from sardonyx._src.proto.messages import NodeProto


@fix("SX206")
def name_output(violation: Violation) -> str:
    node = violation.visited_record(NodeProto)
    schema = violation.body.schema(node)
    assert schema is not None, "the rule knows the operator"
    outputs = list(node.output)
    for i, formal in enumerate(schema.outputs):
        if formal.option != "single":
            break
        if i == len(outputs):
            outputs.append("")
        if not outputs[i]:
            outputs[i] = violation.fix_pass.fresh(f"{node.name or node.op_type}_{formal.name}")
    named = [name for name in outputs if name not in node.output]
    node.output = outputs
    return f"named it {', '.join(map(repr, named))}" if named else ""
