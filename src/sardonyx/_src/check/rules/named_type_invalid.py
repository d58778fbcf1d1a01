"""SX218 named-type-invalid: an attribute that names an element type has a number that is none, or one not allowed there.

Clause: Operators.md; onnx.proto, TensorProto.DataType
Catalogue: OPR-01
Why:    nobody can tell what the operator yields.
Bad:    g (float[2] x) => (float[2] y) { y = Cast <to = 99> (x) }
Good:   g (float[2] x) => (float[2] y) { y = Cast <to = 1> (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.named_types import allowed_types, named_types
from sardonyx._src.proto.messages import NodeProto
from sardonyx._src.proto.record import brief


@rule("SX218", visits=NodeProto, needs="attribute", unless="SX211 SX212 SX231 SX232", by_form=True)
def named_type_invalid(node: NodeProto, context: Context) -> Iterator[Finding]:
    schema = context.schema
    if schema is None:
        return
    for i, one, dtype in named_types(node, schema):
        name = f"{one.name} of {schema.name}-{schema.since_version}"
        help_ = f"use the number of one of {', '.join(sorted(allowed_types(schema, one.name)))}"
        if dtype is None:
            value = brief(bytes(one.s).decode("utf-8", "replace")) if one.has("s") else one.i
            yield Finding(f"attribute[{i}]", f"{name} is {value}, which names no element type", help_)
        elif dtype.text not in allowed_types(schema, one.name):
            yield Finding(f"attribute[{i}]", f"{name} is {dtype.name}, which is not allowed there", help_)
