"""SX136 type-denotation-unknown: the denotation of a type is not defined by the standard.

Clause: TypeDenotation.md; onnx.proto, TypeProto.denotation
Catalogue: SHP-04
Why:    readers know only the defined denotations.
Bad:    g (float[2] @{denotation: "PICTURE"} x) => (float[2] y) { y = Abs(x) }
Good:   g (float[2] @{denotation: "TENSOR"} x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import TypeProto
from sardonyx._src.proto.record import brief

TYPE_DENOTATIONS = ("TENSOR", "IMAGE", "AUDIO", "TEXT")


@rule("SX136", "warning", visits=TypeProto, needs="denotation", cached_by_fingerprint=True, group="strict")
def check_type_denotation_unknown(type_: TypeProto, context: RuleContext) -> Iterator[Finding]:
    if type_.denotation and type_.denotation not in TYPE_DENOTATIONS:
        message = f"{brief(type_.denotation)} is not a denotation of types{context.near(type_.denotation, TYPE_DENOTATIONS)}"
        yield Finding("denotation", message, f"write one of {', '.join(TYPE_DENOTATIONS)}")
