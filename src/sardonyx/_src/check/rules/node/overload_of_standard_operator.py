"""SX215 overload-of-standard-operator: a node with an operator of the standard has an overload.

Clause: onnx.proto, NodeProto.overload
Catalogue: NOD-17
Why:    overloads distinguish functions of a model; operators of the standard have none.
Bad:    g (float[2] x) => (float[2] y) { y = Abs:fast (x) }
Good:   g (float[2] x) => (float[2] y) { y = Abs (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import NodeProto
from sardonyx._src.proto.record import brief


@rule(
    "SX215",
    "warning",
    visits=NodeProto,
    since=10,
    suppressed_by="SX412",
    needs="overload",
    cached_by_fingerprint=True,
)
def check_overload_of_standard_operator(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    if node.overload and context.schema is not None:
        message = f"{node.op_type} is an operator of {node.domain or 'ai.onnx'}, and has no overload {brief(node.overload)}"
        yield Finding("overload", message, "drop the overload, or define the intended function")
