r"""SX002 string-not-utf8: a name or another string of the file is not UTF-8.

Clause: protobuf encoding, strings; IR.md, "Standard data types"
Catalogue: WIR-02
Why:    other tools refuse the file, or read another name than the one that was meant.
Bad:    <producer_name: b"caf\xe9"> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <producer_name: "café"> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.record import Record, brief


@rule("SX002", visits=Record, by_form=True)
def string_not_utf8(record: Record, context: Context) -> Iterator[Finding]:
    for name, value in record.__dict__.items():
        if isinstance(value, str):
            if not value.isascii() and is_broken(value):
                yield broken(name, value)
        elif isinstance(value, list) and value and isinstance(value[0], str):
            for i, one in enumerate(value):
                if not one.isascii() and is_broken(one):
                    yield broken(f"{name}[{i}]", one)


def is_broken(text: str) -> bool:
    """Whether it holds a byte that the decoder had to escape."""
    return any("\ud800" <= sign <= "\udfff" for sign in text)


def broken(at: str, text: str) -> Finding:
    return Finding(at, f"{brief(text)} holds bytes that are not UTF-8", "write the string in UTF-8")
