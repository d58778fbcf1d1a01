"""SX108 value-info-twice: a graph or function declares the type of one value twice.

Clause: onnx.proto, GraphProto.value_info, FunctionProto.value_info
Catalogue: GRA-15 FUN-21
Why:    the two entries may differ, and readers may use either.
Bad:    g (float[2] x) => (float[2] y) <float[2] a, float[2] a> { a = Abs(x) y = Neg(a) }
Good:   g (float[2] x) => (float[2] y) <float[2] a> { a = Abs(x) y = Neg(a) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import FunctionProto, GraphProto
from sardonyx._src.proto.record import brief


@rule("SX108", visits=(GraphProto, FunctionProto))
def check_value_info_twice(graph: GraphProto | FunctionProto, context: RuleContext) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for i, value in enumerate(graph.value_info):
        if value.name and first.setdefault(value.name, i) != i:
            message = f"value_info[{first[value.name]}] also describes {brief(value.name)}"
            yield Finding(f"value_info[{i}]", message, "keep the correct entry")
