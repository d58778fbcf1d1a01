"""SX220 constant-without-one-value: a Constant has no value, or more than one.

Clause: Operators.md, Constant
Catalogue: OPR-03
Why:    the one attribute that is given says what the node yields.
Bad:    g () => (float y) { y = Constant <value_float = 1.0, value_int = 1> () }
Good:   g () => (float y) { y = Constant <value_float = 1.0> () }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import NodeProto


@rule("SX220", visits=NodeProto, by_form=True, unless="SX210 SX211 SX234")
def constant_without_one_value(node: NodeProto, context: Context) -> Iterator[Finding]:
    schema = context.schema
    if node.op_type != "Constant" or schema is None or schema.domain or schema.since_version < 11:
        return  # the earlier versions require `value`, which is all that they have
    given = [(i, one.name) for i, one in enumerate(node.attribute) if one.name in schema.attributes]
    if len(given) != 1:
        says = (
            f"{len(given)} values are given: {', '.join(name for _, name in given[:8])}"
            if given
            else "no value is given"
        )
        at = f"attribute[{given[1][0]}]" if given else "attribute"
        yield Finding(at, says, f"give one of {', '.join(schema.attributes)}")
