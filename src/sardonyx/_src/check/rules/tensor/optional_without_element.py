"""SX364 optional-without-element: an optional type does not state the type of its element.

Clause: onnx.proto, TypeProto.Optional.elem_type
Catalogue: TYP-05
Why:    the type of the value is unknown.
Bad:    g (optional() x) => (bool y) { y = OptionalHasElement (x) }
Good:   g (optional(float[2]) x) => (bool y) { y = OptionalHasElement (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import TypeProtoOptional


@rule("SX364", visits=TypeProtoOptional, since=8)
def check_optional_without_element(type_: TypeProtoOptional, context: RuleContext) -> Iterator[Finding]:
    if type_.elem_type is None:
        yield Finding("elem_type", "elem_type is missing", "set the type of the value")
