"""SX134 dimension-negative: a size in a shape is negative.

Clause: IR.md, "Tensor Definition"; "Static tensor shapes"
Catalogue: SHP-01
Why:    sizes are counts; -1 does not mean an unknown size.
Bad:    g (float[-1] x) => (float[?] y) { y = Abs(x) }
Good:   g (float[?] x) => (float[?] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import TensorShapeProtoDimension


@rule("SX134", visits=TensorShapeProtoDimension, needs="dim_value", cached_by_fingerprint=True)
def check_dimension_negative(dim: TensorShapeProtoDimension, context: RuleContext) -> Iterator[Finding]:
    if dim.dim_value < 0:
        help_ = "set neither dim_value nor dim_param if the size is unknown"
        yield Finding("dim_value", f"the size must be at least 0; got {dim.dim_value}", help_)
