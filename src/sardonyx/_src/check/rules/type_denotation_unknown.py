"""SX136 type-denotation-unknown: the denotation of a type is none of the defined words.

Clause: TypeDenotation.md; onnx.proto, TypeProto.denotation
Catalogue: SHP-04
Why:    readers know the defined words only.
Bad:    g (float[2] @{denotation: "PICTURE"} x) => (float[2] y) { y = Abs(x) }
Good:   g (float[2] @{denotation: "TENSOR"} x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import TypeProto
from sardonyx._src.proto.record import brief

WORDS = ("TENSOR", "IMAGE", "AUDIO", "TEXT")


@rule("SX136", "warning", visits=TypeProto, needs="denotation", by_form=True)
def type_denotation_unknown(type_: TypeProto, context: Context) -> Iterator[Finding]:
    if type_.denotation and type_.denotation not in WORDS:
        says = f"{brief(type_.denotation)} is no denotation of types{context.near(type_.denotation, WORDS)}"
        yield Finding("denotation", says, f"write one of {', '.join(WORDS)}")
