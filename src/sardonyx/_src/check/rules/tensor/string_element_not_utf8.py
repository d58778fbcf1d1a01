r"""SX310 string-element-not-utf8: an element of a STRING tensor is not UTF-8, begins with a byte-order mark or ends in null.

Clause: IR.md, "Standard data types"; onnx.proto, TensorProto.string_data
Catalogue: TEN-10
Why:    readers fail, or decode another string.
Bad:    tensor {dims: [1], data_type: 8, string_data: [b"\xff"]}
Good:   tensor {dims: [1], data_type: 8, string_data: ["é"]}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.names import is_utf8
from sardonyx._src.proto.messages import TensorProto
from sardonyx._src.proto.record import brief


@rule("SX310", visits=TensorProto, needs="string_data")
def check_string_element_not_utf8(tensor: TensorProto, context: RuleContext) -> Iterator[Finding]:
    """Reported once per tensor."""
    for i, text in enumerate(tensor.string_data):
        if why := flaw_of_text(bytes(text)):
            yield Finding(f"string_data[{i}]", f"{brief(bytes(text))} {why}", "write plain UTF-8")
            return


def flaw_of_text(text: bytes) -> str:
    if not is_utf8(text):
        return "is not UTF-8"
    if text.startswith(b"\xef\xbb\xbf"):
        return "begins with a byte-order mark"
    return "ends in a null byte" if text.endswith(b"\0") else ""
