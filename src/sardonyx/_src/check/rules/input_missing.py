"""SX204 input-missing: a node lacks an input that its operator requires.

Clause: IR.md, "Optional Inputs and Outputs"; Operators.md
Catalogue: NOD-05 NOD-08
Why:    only optional inputs may be left out, or given by the empty name.
Bad:    g (float[2] x) => (float[2] y) { y = Add(x) }
Good:   g (float[2] x) => (float[2] y) { y = Add(x, x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import NodeProto


@rule("SX204", visits=NodeProto, by_form=True, unless="SX003")
def input_missing(node: NodeProto, context: Context) -> Iterator[Finding]:
    schema = context.schema
    if schema is None:
        return
    for i, formal in enumerate(schema.inputs):
        if formal.option == "single" and (i >= len(node.input) or not node.input[i]):
            at = f"input[{i}]" if i < len(node.input) else "input"
            says = f"{node.op_type}-{schema.since_version} requires input {i}, {formal.name}"
            yield Finding(at, says, f"give the value for {formal.name}")
            return
    last = schema.inputs[-1] if schema.inputs else None
    if last is not None and last.option == "variadic" and "" in node.input[len(schema.inputs) - 1 :]:
        i = node.input.index("", len(schema.inputs) - 1)
        says = f"input {i} of {node.op_type}-{schema.since_version}, one of {last.name}, has no name"
        yield Finding(f"input[{i}]", says, "name it, or leave it out")
