"""SX132 dimension-name-empty: a dimension variable has the empty name.

Clause: IR.md, "Static tensor shapes"
Catalogue: NAM-03
Why:    an unknown size is a dimension with neither value nor name; readers that compare names would treat all such
        sizes as equal.
Bad:    g (float[""] x) => (float[2] y) { y = Abs(x) }
Good:   g (float[?] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import TensorShapeProtoDimension


@rule(
    "SX132",
    "warning",
    visits=TensorShapeProtoDimension,
    since=4,
    needs="dim_param",
    cached_by_fingerprint=True,
    group="strict",
)
def check_dimension_name_empty(dim: TensorShapeProtoDimension, context: RuleContext) -> Iterator[Finding]:
    if dim.has("dim_param") and not dim.dim_param:
        yield Finding("", "dim_param is set to the empty string", "name the variable, or leave dim_param out")
