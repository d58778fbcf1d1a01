"""SX711 body-types-differ: the body of a Loop, Scan or SequenceMap does not fit the values that go in and out.

Clause: Operators.md, Loop, Scan, SequenceMap
Catalogue: SUB-17
Why:    values are carried from one iteration to the next, so that they keep their type; a Loop hands its body an int64
        and a bool scalar first, and takes a bool first.
Bad:    g (int64 n, bool c, float[2] x) => (float[2] y) {
          y = Loop <body = b (int64 i, bool k, float[2] v) => (bool k2, int64[2] w) {
            k2 = Identity(k) w = Cast <to = 7> (v)
          }> (n, c, x)
        }
Good:   g (int64 n, bool c, float[2] x) => (float[2] y) {
          y = Loop <body = b (int64 i, bool k, float[2] v) => (bool k2, float[2] w) {
            k2 = Identity(k) w = Abs(v)
          }> (n, c, x)
        }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding
from sardonyx._src.check.spelling import spelled
from sardonyx._src.check.uses import Use, typed

BODIES = frozenset(("Loop", "Scan", "SequenceMap"))


@typed("SX711", about=Use, unless="SX703 SX708")
def body_types_differ(use: Use) -> Iterator[Finding]:
    if use.schema.name not in BODIES or use.schema.domain:
        return
    if use.fault is not None:
        yield Finding(
            "", f"{use.name}: {use.why}", "correct the types in the body, or the values handed to it"
        )
        return
    body = next(iter(use.node.subgraphs), None)
    if use.schema.name == "Loop" and body is not None and body.outputs:
        condition = spelled(body.outputs[0].type)
        if condition not in (None, "tensor(bool)"):
            says = f"{use.name}: the body's condition is {condition}"
            yield Finding("", says, "let the body yield a bool scalar first")
