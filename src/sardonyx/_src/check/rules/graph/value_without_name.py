"""SX105 value-without-name: an input or output of a graph or function has no name.

Clause: IR.md, "Graphs"; onnx.proto, ValueInfoProto.name
Catalogue: GRA-14
Why:    values are referred to by name only.
Bad:    g (float[2] x, float[2] "") => (float[2] y) { y = Abs(x) }
Good:   g (float[2] x, float[2] z) => (float[2] y) { y = Add(x, z) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.engine.body import input_names, output_names
from sardonyx._src.proto.messages import FunctionProto, GraphProto


@rule("SX105", visits=(GraphProto, FunctionProto), suppressed_by="SX003")
def check_value_without_name(graph: GraphProto | FunctionProto, context: RuleContext) -> Iterator[Finding]:
    for field, names in (("input", input_names(graph)), ("output", output_names(graph))):
        for i, name in enumerate(names):
            if not name:
                yield Finding(f"{field}[{i}]", f"the {field} has no name", "name it")
