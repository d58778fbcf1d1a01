"""SX904 import-unused: a model or function imports an operator set of which it has no node.

Clause: none: the specification allows it
Catalogue: -
Why:    readers that do not know the set refuse the model for nothing.
Bad:    <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <opset_import: ["": 21]> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.reading import bodies_of
from sardonyx._src.proto.messages import FunctionProto, ModelProto
from sardonyx._src.proto.record import brief
from sardonyx._src.schema import canonical


@rule("SX904", "info", visits=(ModelProto, FunctionProto), needs="opset_import", unless="SX035")
def import_unused(holder: ModelProto | FunctionProto, context: Context) -> Iterator[Finding]:
    """The set of ONNX itself may always stand there; nodes of functions count for their model, too."""
    if all(not canonical(one.domain) for one in holder.opset_import):
        return
    model = holder if isinstance(holder, ModelProto) else ModelProto(functions=[holder])
    used = {canonical(node.domain) for _, body in bodies_of(model) for node in body.node}
    for i, one in enumerate(holder.opset_import):
        domain = canonical(one.domain)
        if domain and domain not in used:
            yield Finding(f"opset_import[{i}]", f"no node is of {brief(domain)}", "drop the import")
