r"""SX240 string-attribute-not-utf8: the value of a string attribute is not UTF-8.

Clause: IR.md, "Attributes"; "Standard data types"
Catalogue: ATT-11
Why:    ONNX strings are UTF-8; readers fail, or decode another string.
Bad:    g (float[2] x) => (float[2] y) { y = Abs(x)  z = Constant <value_string = b"\xff\xfe"> () }
Good:   g (float[2] x) => (float[2] y) { y = Abs(x)  z = Constant <value_string = "é"> () }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.names import is_utf8
from sardonyx._src.proto.messages import AttributeProto
from sardonyx._src.proto.record import brief


@rule("SX240", visits=AttributeProto, needs="s strings", cached_by_fingerprint=True)
def check_string_attribute_not_utf8(attribute: AttributeProto, context: RuleContext) -> Iterator[Finding]:
    if attribute.has("s") and not is_utf8(attribute.s):
        yield Finding("s", f"{brief(attribute.s)} is not UTF-8", "write the string in UTF-8")
    if attribute.has("strings"):
        for i, text in enumerate(attribute.strings):
            if not is_utf8(text):
                yield Finding(f"strings[{i}]", f"{brief(text)} is not UTF-8", "write the string in UTF-8")
