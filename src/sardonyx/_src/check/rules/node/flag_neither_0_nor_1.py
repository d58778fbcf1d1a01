"""SX224 flag-neither-0-nor-1: a boolean attribute is neither 0 nor 1.

Clause: Operators.md; Operators-ml.md
Catalogue: -
Why:    only 0 and 1 are defined.  Runtimes treat other numbers as true or false, or refuse the node.
Bad:    g (float[2, 3] x) => (float[2, 1] y) <int64[1] a = {1}> { y = ReduceSum <keepdims = 2> (x, a) }
Good:   g (float[2, 3] x) => (float[2, 1] y) <int64[1] a = {1}> { y = ReduceSum <keepdims = 1> (x, a) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine.api import Finding, rule
from sardonyx._src.check.engine.context import RuleContext
from sardonyx._src.proto.messages import NodeProto

FLAG_ATTRIBUTES = frozenset(  # of any operator
    """
    align_corners allowzero antialias broadcast ceil_mode center_point_box count_include_pad detect_negative
    detect_positive exclude_outside exclusive fmod interleaved inverse is_causal is_case_sensitive keepdims largest
    linear_before_reset new_axis noop_with_empty_axes one_class onesided periodic reverse saturate
    select_last_index sorted transA transB upper zeros
    """.split()
)


@rule(
    "SX224",
    "warning",
    visits=NodeProto,
    needs="attribute",
    suppressed_by="SX211 SX212 SX231 SX232",
    by_fingerprint=True,
)
def check_flag_neither_0_nor_1(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    for i, attribute in enumerate(node.attribute):
        if attribute.i not in (0, 1) and attribute.name in FLAG_ATTRIBUTES and context.schema is not None:
            schema = context.schema
            message = (
                f"{attribute.name} of {schema.name}-{schema.since_version} must be 0 or 1; got {attribute.i}"
            )
            yield Finding(f"attribute[{i}].i", message, "write 1 for true, 0 for false")
