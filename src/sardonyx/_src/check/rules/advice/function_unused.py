"""SX903 function-unused: nothing calls a function of the model.

Clause: none: the specification allows it
Catalogue: -
Why:    it takes up space in the file without effect, or a call is misspelled.
Bad:    <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = Abs(x) }
        <domain: "com.example", opset_import: ["": 21]> F (v) => (w) { w = Abs(v) }
Good:   <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F(x) }
        <domain: "com.example", opset_import: ["": 21]> F (v) => (w) { w = Abs(v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.analysis.reads import bodies_of
from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.engine.body import key_of
from sardonyx._src.proto.messages import ModelProto
from sardonyx._src.proto.record import brief
from sardonyx._src.schema import canonical


@rule("SX903", "info", visits=ModelProto, since=8, needs="functions", suppressed_by="SX400", group="style")
def check_function_unused(model: ModelProto, context: RuleContext) -> Iterator[Finding]:
    called = {
        (canonical(node.domain), node.op_type, node.overload)
        for _, body in bodies_of(model)
        for node in body.node
    }
    for i, function in enumerate(model.functions):
        if function.name and key_of(function) not in called:
            message = f"nothing calls {brief(function.name)} of {brief(function.domain)}"
            yield Finding(f"functions[{i}]", message, "drop it, or correct the intended call")
