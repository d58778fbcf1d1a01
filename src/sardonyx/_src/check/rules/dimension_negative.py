"""SX134 dimension-negative: a size in a shape is negative.

Clause: IR.md, "Tensor Definition"; "Static tensor shapes"
Catalogue: SHP-01
Why:    sizes are counts; -1 does not stand for an unknown one.
Bad:    g (float[-1] x) => (float[?] y) { y = Abs(x) }
Good:   g (float[?] x) => (float[?] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import TensorShapeProtoDimension


@rule("SX134", visits=TensorShapeProtoDimension, needs="dim_value", by_form=True)
def dimension_negative(dim: TensorShapeProtoDimension, context: Context) -> Iterator[Finding]:
    if dim.dim_value < 0:
        help_ = "leave both dim_value and dim_param out where the size is not known"
        yield Finding("dim_value", f"the size is {dim.dim_value}", help_)
