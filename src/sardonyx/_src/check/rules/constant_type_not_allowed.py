"""SX222 constant-type-not-allowed: a Constant holds elements that its version of the operator does not yield.

Clause: Operators.md, Constant
Catalogue: NOD-10
Why:    each version lists the element types of its time.  Version 1 lists floats alone, but is taken for all types
        wherever it runs, and exporters have relied on that: there it is a warning.
Bad:    <opset_import: ["": 19]> g () => (int4[2] y) { y = Constant <value = int4[2] {18}> () }
Good:   <opset_import: ["": 21]> g () => (int4[2] y) { y = Constant <value = int4[2] {18}> () }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, Severity, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.names import ELEMENT_TYPES, element_type
from sardonyx._src.check.spelling import listed
from sardonyx._src.check.types import element_of
from sardonyx._src.dtypes import DataType
from sardonyx._src.proto.messages import NodeProto


@rule("SX222", visits=NodeProto, needs="attribute", unless="SX211 SX212 SX231 SX232 SX300")
def constant_type_not_allowed(node: NodeProto, context: Context) -> Iterator[Finding]:
    if node.op_type != "Constant" or node.domain not in ("", "ai.onnx") or context.schema is None:
        return
    schema = context.schema
    allowed = schema.allowed(schema.outputs[0])
    for i, one in enumerate(node.attribute):
        held = one.t or one.sparse_tensor
        found = element_of(held) if held is not None else None
        if found is not None and found in ELEMENT_TYPES and text_of(found) not in allowed:
            says = (
                f"Constant-{schema.since_version} yields no {element_type(found)}; allowed: {listed(allowed)}"
            )
            cure = "make it an initializer, or import a version that yields it"
            severity: Severity = "warning" if schema.since_version == 1 else "error"
            yield Finding(f"attribute[{i}]", says, cure, severity)


def text_of(number: int) -> str:
    """The tensor type as signatures write it."""
    return f"tensor({DataType.numbered(number).text})"
