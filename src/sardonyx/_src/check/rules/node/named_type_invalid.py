"""SX218 named-type-invalid: an attribute whose value is an element type has an unknown number or a type that is not allowed.

Clause: Operators.md; onnx.proto, TensorProto.DataType
Catalogue: OPR-01
Why:    the operator's output type is not defined.
Bad:    g (float[2] x) => (float[2] y) { y = Cast <to = 99> (x) }
Good:   g (float[2] x) => (float[2] y) { y = Cast <to = 1> (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.element_type_attributes import allowed_types, element_type_attributes
from sardonyx._src.proto.messages import NodeProto
from sardonyx._src.proto.record import brief


@rule(
    "SX218",
    visits=NodeProto,
    needs="attribute",
    suppressed_by="SX211 SX212 SX231 SX232",
    cached_by_fingerprint=True,
)
def check_named_type_invalid(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    schema = context.schema
    if schema is None:
        return
    for i, attribute, dtype in element_type_attributes(node, schema):
        name = f"{attribute.name} of {schema.name}-{schema.since_version}"
        help_ = f"use the number of one of {', '.join(sorted(allowed_types(schema, attribute.name)))}"
        if dtype is None:
            value = (
                brief(bytes(attribute.s).decode("utf-8", "replace")) if attribute.has("s") else attribute.i
            )
            yield Finding(f"attribute[{i}]", f"{name} is {value}, which is not an element type", help_)
        elif dtype.text not in allowed_types(schema, attribute.name):
            yield Finding(f"attribute[{i}]", f"{name} is {dtype.name}, which is not allowed", help_)
