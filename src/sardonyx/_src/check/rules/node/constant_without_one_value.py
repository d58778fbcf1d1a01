"""SX220 constant-without-one-value: a Constant has no value, or more than one.

Clause: Operators.md, Constant
Catalogue: OPR-03
Why:    exactly one attribute determines the node's output.
Bad:    g () => (float y) { y = Constant <value_float = 1.0, value_int = 1> () }
Good:   g () => (float y) { y = Constant <value_float = 1.0> () }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import NodeProto


@rule("SX220", visits=NodeProto, cached_by_fingerprint=True, suppressed_by="SX210 SX211 SX234")
def check_constant_without_one_value(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    schema = context.schema
    if node.op_type != "Constant" or schema is None or schema.domain or schema.since_version < 11:
        return  # earlier versions have and require only `value`
    values = [
        (i, attribute.name)
        for i, attribute in enumerate(node.attribute)
        if attribute.name in schema.attributes
    ]
    if len(values) != 1:
        message = (
            f"{len(values)} values are given: {', '.join(name for _, name in values[:8])}"
            if values
            else "no value is given"
        )
        path = f"attribute[{values[1][0]}]" if values else "attribute"
        yield Finding(path, message, f"give one of {', '.join(schema.attributes)}")
