"""SX107 border-without-shape: a tensor input or output of the main graph has no shape.

Clause: IR.md, "Graphs", "Static tensor shapes"
Catalogue: GRA-13 TYP-06
Why:    from IR version 4 on, the rank of these tensors must be known; an unknown size is a dimension without value.
Bad:    g (float[] x) => (float[2] y) { y = Abs(x) }
Good:   g (float[?] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import GraphProto
from sardonyx._src.proto.record import brief


@rule("SX107", visits=GraphProto, since=4, suppressed_by="SX003")
def check_border_without_shape(graph: GraphProto, context: RuleContext) -> Iterator[Finding]:
    assert context.body is not None, "a graph has a body"
    if context.body.kind != "main":
        return
    for field in ("input", "output"):
        for i, value in enumerate(getattr(graph, field)):
            kind = value.type.which("value") if value.type is not None else None
            if kind in ("tensor_type", "sparse_tensor_type") and getattr(value.type, kind).shape is None:
                help_ = "list a dimension for each axis; one without value or name is of unknown size"
                yield Finding(
                    f"{field}[{i}].type.{kind}", f"the shape of {brief(value.name)} is missing", help_
                )
