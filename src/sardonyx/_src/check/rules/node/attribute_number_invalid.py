"""SX224 attribute-number-invalid: an integer attribute has a value that the operator does not define.

Clause: Operators.md; Operators-ml.md
Catalogue: OPR-07
Why:    the result is not defined: a flag other than 0 and 1, a stride of 0, a negative number of groups.  Engines refuse
        the node, also where the attribute has no effect.
Bad:    g (float[2, 3] x) => (float[2, 1] y) <int64[1] a = {1}> { y = ReduceSum <keepdims = 2> (x, a) }
Good:   g (float[2, 3] x) => (float[2, 1] y) <int64[1] a = {1}> { y = ReduceSum <keepdims = 1> (x, a) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.ops.attribute_domains import ELEMENT_TYPE_ATTRIBUTES, FLAG, integer_domain
from sardonyx._src.proto.messages import AttributeProto, NodeProto


@rule(
    "SX224",
    visits=NodeProto,
    needs="attribute",
    suppressed_by="SX211 SX212 SX231 SX232",
    cached_by_fingerprint=True,
)
def check_attribute_number_invalid(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    schema = context.schema
    if schema is None:
        return
    for i, attribute in enumerate(node.attribute):
        domain = integer_domain(schema, attribute.name)
        if domain is None or attribute.ref_attr_name or attribute.name in ELEMENT_TYPE_ATTRIBUTES:
            continue
        for subpath, number in numbers_of(attribute):
            if number not in domain:
                name = f"{attribute.name} of {schema.name}-{schema.since_version}"
                cure = "write 1 for true, 0 for false" if domain is FLAG else f"use a number {domain}"
                yield Finding(f"attribute[{i}]{subpath}", f"{name} must be {domain}; got {number}", cure)
                break


def numbers_of(attribute: AttributeProto) -> Iterator[tuple[str, int]]:
    """The integers of an attribute, each with its path."""
    if attribute.has("i"):
        yield ".i", attribute.i
    for j, value in enumerate(attribute.ints):
        yield f".ints[{j}]", value
