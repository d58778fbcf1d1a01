"""SX224 flag-neither-0-nor-1: an attribute that says yes or no holds another number.

Clause: Operators.md; Operators-ml.md
Catalogue: -
Why:    0 and 1 are defined.  For another number some runtimes read yes, some no, and some refuse the node.
Bad:    g (float[2, 3] x) => (float[2, 1] y) <int64[1] a = {1}> { y = ReduceSum <keepdims = 2> (x, a) }
Good:   g (float[2, 3] x) => (float[2, 1] y) <int64[1] a = {1}> { y = ReduceSum <keepdims = 1> (x, a) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import NodeProto

FLAGS = frozenset(  # whatever operator they belong to
    """
    align_corners allowzero antialias broadcast ceil_mode center_point_box count_include_pad detect_negative
    detect_positive exclude_outside exclusive fmod interleaved inverse is_causal is_case_sensitive keepdims largest
    linear_before_reset new_axis noop_with_empty_axes one_class onesided periodic reverse saturate
    select_last_index sorted transA transB upper zeros
    """.split()
)


@rule("SX224", "warning", visits=NodeProto, needs="attribute", unless="SX211 SX212 SX231 SX232")
def flag_neither_0_nor_1(node: NodeProto, context: Context) -> Iterator[Finding]:
    for i, one in enumerate(node.attribute):
        if one.i not in (0, 1) and one.name in FLAGS and context.schema is not None:
            schema = context.schema
            says = f"{one.name} of {schema.name}-{schema.since_version} is {one.i}"
            yield Finding(f"attribute[{i}].i", says, "write 1 for yes, 0 for no")
