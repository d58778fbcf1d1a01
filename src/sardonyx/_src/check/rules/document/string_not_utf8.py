r"""SX002 string-not-utf8: a name or another string of the file is not UTF-8.

Clause: protobuf encoding, strings; IR.md, "Standard data types"
Catalogue: WIR-02
Why:    other tools refuse the file, or read another name than intended.
Bad:    <producer_name: b"caf\xe9"> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <producer_name: "café"> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.record import Record, brief


@rule("SX002", visits=Record, cached_by_fingerprint=True)
def check_string_not_utf8(record: Record, context: RuleContext) -> Iterator[Finding]:
    for name, value in record.__dict__.items():
        if isinstance(value, str):
            if not value.isascii() and is_broken(value):
                yield describe(name, value)
        elif isinstance(value, list) and value and isinstance(value[0], str):
            for i, text in enumerate(value):
                if not text.isascii() and is_broken(text):
                    yield describe(f"{name}[{i}]", text)


def is_broken(text: str) -> bool:
    """Whether the text has a byte that the decoder had to escape."""
    return any("\ud800" <= character <= "\udfff" for character in text)


def describe(path: str, text: str) -> Finding:
    return Finding(path, f"{brief(text)} has bytes that are not UTF-8", "write the string in UTF-8")
