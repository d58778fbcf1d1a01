"""SX221 attribute-value-unlisted: a string attribute has a value that the operator does not list.

Clause: Operators.md; Operators-ml.md
Catalogue: OPR-07
Why:    the result of the operator is not defined.  The lists are those of the bound version.
Bad:    g (float[1, 1, 4, 4] x, float[1, 1, 3, 3] w) => (float[1, 1, M, N] y) { y = Conv <auto_pad = "SAME"> (x, w) }
Good:   g (float[1, 1, 4, 4] x, float[1, 1, 3, 3] w) => (float[1, 1, M, N] y) { y = Conv <auto_pad = "SAME_UPPER"> (x, w) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.ops.registry import find
from sardonyx._src.proto.messages import NodeProto
from sardonyx._src.proto.record import Payload, brief
from sardonyx._src.suggestions import did_you_mean


@rule(
    "SX221",
    visits=NodeProto,
    needs="attribute",
    suppressed_by="SX211 SX212 SX231 SX232 SX240",
    cached_by_fingerprint=True,
)
def check_attribute_value_unlisted(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    schema = context.schema
    if schema is None or not node.attribute or (op := find(schema.domain, schema.name)) is None:
        return
    for i, attribute in enumerate(node.attribute):
        enum = op.enum_attributes.get(attribute.name)
        values = enum.in_version(schema.since_version) if enum is not None else None
        if enum is None or values is None or attribute.ref_attr_name:
            continue
        for subpath, value in texts_of(attribute.s if attribute.has("s") else None, attribute.strings):
            if not enum.is_allowed(value, schema.since_version):
                message = f"{attribute.name} of {schema.name}-{schema.since_version} is {brief(value)}"
                near = did_you_mean(value[:64], sorted(values))
                yield Finding(
                    f"attribute[{i}]{subpath}", message + near, f"use one of {', '.join(sorted(values))}"
                )
                break


def texts_of(attribute: Payload | None, several: list[Payload]) -> Iterator[tuple[str, str]]:
    """The strings of an attribute, each with its path."""
    if attribute is not None:
        yield ".s", bytes(attribute).decode("utf-8", "replace")
    for j, value in enumerate(several):
        yield f".strings[{j}]", bytes(value).decode("utf-8", "replace")
