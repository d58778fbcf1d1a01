"""SX365 type-without-kind: a type does not say whether it is a tensor, a sequence or what else.

Clause: IR.md, "Standard data types"; onnx.proto, TypeProto.value
Catalogue: TYP-07 TYP-09 TYP-02 TYP-04 TYP-05 TYP-10
Why:    such a type says nothing; a value whose type is not known has no type at all.
Bad:    g (? x) => (float[2] y) { y = Abs(x) }
Good:   g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import TypeProto


@rule("SX365", visits=TypeProto, by_form=True, unless="SX003")
def type_without_kind(type_: TypeProto, context: Context) -> Iterator[Finding]:
    if type_.which("value") is None:
        yield Finding("", "none of tensor_type, sequence_type and so on is set", "set one, or drop the type")
