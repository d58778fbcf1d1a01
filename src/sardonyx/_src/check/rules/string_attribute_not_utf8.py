r"""SX240 string-attribute-not-utf8: the value of a string attribute is not UTF-8.

Clause: IR.md, "Attributes"; "Standard data types"
Catalogue: ATT-11
Why:    strings of ONNX are UTF-8; readers fail on it, or read something else.
Bad:    g (float[2] x) => (float[2] y) { y = Abs(x)  z = Constant <value_string = b"\xff\xfe"> () }
Good:   g (float[2] x) => (float[2] y) { y = Abs(x)  z = Constant <value_string = "é"> () }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.names import is_utf8
from sardonyx._src.proto.messages import AttributeProto
from sardonyx._src.proto.record import brief


@rule("SX240", visits=AttributeProto, needs="s strings", by_form=True)
def string_attribute_not_utf8(one: AttributeProto, context: Context) -> Iterator[Finding]:
    if one.has("s") and not is_utf8(one.s):
        yield Finding("s", f"{brief(one.s)} is not UTF-8", "write the string in UTF-8")
    if one.has("strings"):
        for i, text in enumerate(one.strings):
            if not is_utf8(text):
                yield Finding(f"strings[{i}]", f"{brief(text)} is not UTF-8", "write the string in UTF-8")
