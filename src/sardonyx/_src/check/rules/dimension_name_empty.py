"""SX132 dimension-name-empty: a dimension variable has the empty name.

Clause: IR.md, "Static tensor shapes"
Catalogue: NAM-03
Why:    a size that is not known is a dimension with neither value nor name; readers that compare names would take all
        such sizes for one.
Bad:    g (float[""] x) => (float[2] y) { y = Abs(x) }
Good:   g (float[?] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import TensorShapeProtoDimension


@rule("SX132", "warning", visits=TensorShapeProtoDimension, since=4, needs="dim_param", by_form=True)
def dimension_name_empty(dim: TensorShapeProtoDimension, context: Context) -> Iterator[Finding]:
    if dim.has("dim_param") and not dim.dim_param:
        yield Finding("", "dim_param is set to the empty string", "name the variable, or leave dim_param out")
