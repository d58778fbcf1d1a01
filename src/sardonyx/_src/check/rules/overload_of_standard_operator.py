"""SX215 overload-of-standard-operator: a node of an operator that ONNX defines gives an overload.

Clause: onnx.proto, NodeProto.overload
Catalogue: NOD-17
Why:    overloads tell functions of a model apart; an operator of the standard has none.
Bad:    g (float[2] x) => (float[2] y) { y = Abs:fast (x) }
Good:   g (float[2] x) => (float[2] y) { y = Abs (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import NodeProto
from sardonyx._src.proto.record import brief


@rule("SX215", "warning", visits=NodeProto, since=10, unless="SX412", needs="overload", by_form=True)
def overload_of_standard_operator(node: NodeProto, context: Context) -> Iterator[Finding]:
    if node.overload and context.schema is not None:
        says = f"{node.op_type} is an operator of {node.domain or 'ai.onnx'}, and has no overload {brief(node.overload)}"
        yield Finding("overload", says, "drop the overload, or define the function that is meant")
