"""SX133 dimension-name-star: a dimension is called "*".

Clause: IR.md, "Static tensor shapes"; IR version 3 had it for several dimensions
Catalogue: NAM-04
Why:    from IR version 4 on it is a variable like any other, and does not stand for several dimensions.
Bad:    g (float["*"] x) => (float[2] y) { y = Abs(x) }
Good:   g (float[n] x) => (float[n] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import TensorShapeProtoDimension


@rule("SX133", "warning", visits=TensorShapeProtoDimension, since=4, needs="dim_param", by_form=True)
def dimension_name_star(dim: TensorShapeProtoDimension, context: Context) -> Iterator[Finding]:
    if dim.dim_param == "*":
        says = 'the variable "*" stands for the size of one dimension'
        yield Finding("dim_param", says, "give the variable a name, and list each dimension of the shape")
