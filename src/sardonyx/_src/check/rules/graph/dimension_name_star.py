"""SX133 dimension-name-star: a dimension is called "*".

Clause: IR.md, "Static tensor shapes"; IR version 3 used it for several dimensions
Catalogue: NAM-04
Why:    from IR version 4 on, it is a variable like any other, and not a wildcard for several dimensions.
Bad:    g (float["*"] x) => (float[2] y) { y = Abs(x) }
Good:   g (float[n] x) => (float[n] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import TensorShapeProtoDimension


@rule(
    "SX133",
    "warning",
    visits=TensorShapeProtoDimension,
    since=4,
    needs="dim_param",
    cached_by_fingerprint=True,
    group="strict",
)
def check_dimension_name_star(dim: TensorShapeProtoDimension, context: RuleContext) -> Iterator[Finding]:
    if dim.dim_param == "*":
        message = 'the variable "*" is the size of one dimension'
        yield Finding("dim_param", message, "rename the variable, and list each dimension of the shape")
