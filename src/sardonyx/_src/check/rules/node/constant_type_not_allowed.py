"""SX222 constant-type-not-allowed: a Constant has an element type that its operator version does not allow.

Clause: Operators.md, Constant
Catalogue: NOD-10
Why:    each version lists its element types.  Version 1 lists floats only, but runtimes accept all types and exporters
        rely on that, so it is a warning there.
Bad:    <opset_import: ["": 19]> g () => (int4[2] y) { y = Constant <value = int4[2] {18}> () }
Good:   <opset_import: ["": 21]> g () => (int4[2] y) { y = Constant <value = int4[2] {18}> () }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.analysis.declared_types import element_of
from sardonyx._src.check.engine import Finding, RuleContext, Severity, rule
from sardonyx._src.check.engine.api import RuleGroup
from sardonyx._src.check.records.names import ELEMENT_TYPE_NAMES, element_type
from sardonyx._src.check.type_rules.type_names import format_types
from sardonyx._src.dtypes import DataType
from sardonyx._src.proto.messages import NodeProto
from sardonyx._src.schema import canonical


@rule(
    "SX222",
    visits=NodeProto,
    needs="attribute",
    suppressed_by="SX211 SX212 SX231 SX232 SX300",
    cached_by_fingerprint=True,
)
def check_constant_type_not_allowed(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    if node.op_type != "Constant" or canonical(node.domain) or context.schema is None:
        return
    schema = context.schema
    allowed = schema.allowed_types(schema.outputs[0])
    for i, attribute in enumerate(node.attribute):
        value = attribute.t or attribute.sparse_tensor
        number = element_of(value) if value is not None else None
        if number is not None and number in ELEMENT_TYPE_NAMES and text_of(number) not in allowed:
            message = f"Constant-{schema.since_version} does not allow {element_type(number)}; allowed: {format_types(allowed)}"
            help_ = "make it an initializer, or import a version that allows it"
            is_common = schema.since_version == 1
            severity: Severity = "warning" if is_common else "error"
            group: RuleGroup | None = "strict" if is_common else None
            yield Finding(f"attribute[{i}]", message, help_, severity, group=group)


def text_of(number: int) -> str:
    """The tensor type in the notation of schemas."""
    return f"tensor({DataType.from_number(number).text})"
