"""SX108 value-info-twice: a graph or function says the type of one value twice.

Clause: onnx.proto, GraphProto.value_info, FunctionProto.value_info
Catalogue: GRA-15 FUN-21
Why:    the two entries may differ, and readers take one or the other.
Bad:    g (float[2] x) => (float[2] y) <float[2] a, float[2] a> { a = Abs(x) y = Neg(a) }
Good:   g (float[2] x) => (float[2] y) <float[2] a> { a = Abs(x) y = Neg(a) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import FunctionProto, GraphProto
from sardonyx._src.proto.record import brief


@rule("SX108", visits=(GraphProto, FunctionProto))
def value_info_twice(graph: GraphProto | FunctionProto, context: Context) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for i, value in enumerate(graph.value_info):
        if value.name and first.setdefault(value.name, i) != i:
            says = f"value_info[{first[value.name]}] is about {brief(value.name)}, too"
            yield Finding(f"value_info[{i}]", says, "keep the entry that is right")
