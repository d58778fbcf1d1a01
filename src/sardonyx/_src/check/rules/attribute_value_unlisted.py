"""SX221 attribute-value-unlisted: a string attribute has none of the values that the operator lists for it.

Clause: Operators.md; Operators-ml.md
Catalogue: OPR-07
Why:    the operator does not say what it would compute.  The lists are those of the bound version.
Bad:    g (float[1, 1, 4, 4] x, float[1, 1, 3, 3] w) => (float[1, 1, M, N] y) { y = Conv <auto_pad = "SAME"> (x, w) }
Good:   g (float[1, 1, 4, 4] x, float[1, 1, 3, 3] w) => (float[1, 1, M, N] y) { y = Conv <auto_pad = "SAME_UPPER"> (x, w) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.listed_values import LISTED, is_listed, values_of
from sardonyx._src.check.names import did_you_mean
from sardonyx._src.proto.messages import NodeProto
from sardonyx._src.proto.record import Payload, brief


@rule("SX221", visits=NodeProto, needs="attribute", unless="SX211 SX212 SX231 SX232 SX240", by_form=True)
def attribute_value_unlisted(node: NodeProto, context: Context) -> Iterator[Finding]:
    schema = context.schema
    if schema is None or (schema.domain, schema.name) not in LISTED:
        return
    for i, one in enumerate(node.attribute):
        values = values_of(schema.domain, schema.name, schema.since_version, one.name)
        if values is None or one.ref_attr_name:
            continue
        for at, value in written(one.s if one.has("s") else None, one.strings):
            if not is_listed(one.name, value, values):
                says = f"{one.name} of {schema.name}-{schema.since_version} is {brief(value)}"
                near = did_you_mean(value[:64], sorted(values))
                yield Finding(f"attribute[{i}]{at}", says + near, f"use one of {', '.join(sorted(values))}")
                break


def written(one: Payload | None, several: list[Payload]) -> Iterator[tuple[str, str]]:
    """Path from the attribute, and text, of its strings."""
    if one is not None:
        yield ".s", bytes(one).decode("utf-8", "replace")
    for j, value in enumerate(several):
        yield f".strings[{j}]", bytes(value).decode("utf-8", "replace")
