"""SX219 permutation-invalid: a permutation does not contain each axis once.

Clause: Operators.md, Transpose
Catalogue: OPR-02
Why:    every axis of the input becomes one axis of the output.
Bad:    g (float[2, 3] x) => (float[M, N] y) { y = Transpose <perm = [0, 0]> (x) }
Good:   g (float[2, 3] x) => (float[M, N] y) { y = Transpose <perm = [1, 0]> (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import NodeProto

MAX_LISTED_AXES = 16


@rule(
    "SX219",
    visits=NodeProto,
    needs="attribute",
    suppressed_by="SX211 SX212 SX231 SX232",
    cached_by_fingerprint=True,
)
def check_permutation_invalid(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    if node.op_type != "Transpose" or context.schema is None:
        return
    for i, attribute in enumerate(node.attribute):
        axes = list(attribute.ints)
        if (
            attribute.name == "perm"
            and not attribute.ref_attr_name
            and sorted(axes) != list(range(len(axes)))
        ):
            shown = f"{axes[:MAX_LISTED_AXES]}{' and more' if len(axes) > MAX_LISTED_AXES else ''}"
            message = f"perm must contain each axis from 0 to {len(axes) - 1} once; got {shown}"
            yield Finding(f"attribute[{i}].ints", message, "list each axis once, without negative numbers")
