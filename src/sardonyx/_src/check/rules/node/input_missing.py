"""SX204 input-missing: a node lacks an input that its operator requires.

Clause: IR.md, "Optional Inputs and Outputs"; Operators.md
Catalogue: NOD-05 NOD-08
Why:    only optional inputs may be omitted or have the empty name.
Bad:    g (float[2] x) => (float[2] y) { y = Add(x) }
Good:   g (float[2] x) => (float[2] y) { y = Add(x, x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import NodeProto


@rule("SX204", visits=NodeProto, cached_by_fingerprint=True, suppressed_by="SX003")
def check_input_missing(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    schema = context.schema
    if schema is None:
        return
    for i, formal in enumerate(schema.inputs):
        if formal.option == "single" and (i >= len(node.input) or not node.input[i]):
            path = f"input[{i}]" if i < len(node.input) else "input"
            message = f"{node.op_type}-{schema.since_version} requires input {i}, {formal.name}"
            yield Finding(path, message, f"provide {formal.name}")
            return
    last = schema.inputs[-1] if schema.inputs else None
    if last is not None and last.option == "variadic" and "" in node.input[len(schema.inputs) - 1 :]:
        i = node.input.index("", len(schema.inputs) - 1)
        message = f"input {i} of {node.op_type}-{schema.since_version}, one of {last.name}, has no name"
        yield Finding(f"input[{i}]", message, "name it, or omit it")
