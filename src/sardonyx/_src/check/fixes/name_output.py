"""name-output: a required output of a node that has no name gets one, which nobody reads."""

from __future__ import annotations

from sardonyx._src.check.mends import Fault, fix
from sardonyx._src.proto.messages import NodeProto


@fix("SX206")
def name_output(fault: Fault) -> str:
    node = fault.the(NodeProto)
    schema = fault.body.schema(node)
    assert schema is not None, "the rule knows the operator"
    outputs = list(node.output)
    for i, formal in enumerate(schema.outputs):
        if formal.option != "single":
            break
        if i == len(outputs):
            outputs.append("")
        if not outputs[i]:
            outputs[i] = fault.round.fresh(f"{node.name or node.op_type}_{formal.name}")
    named = [name for name in outputs if name not in node.output]
    node.output = outputs
    return f"named it {', '.join(map(repr, named))}" if named else ""
