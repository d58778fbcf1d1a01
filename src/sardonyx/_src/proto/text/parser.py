"""Reading text: from a string to a record."""

from __future__ import annotations

from typing import TypeVar, overload

from sardonyx._src.errors import LimitError
from sardonyx._src.proto.messages import ModelProto
from sardonyx._src.proto.record import Record
from sardonyx._src.proto.text import parse_graphs  # noqa: F401  # registers the readers
from sardonyx._src.proto.text.lexer import Lexer
from sardonyx._src.proto.text.parse_records import read
from sardonyx._src.proto.wire import Limits

R = TypeVar("R", bound=Record)


@overload
def from_text(text: str, *, source: str = "", limits: Limits | None = None) -> ModelProto: ...
@overload
def from_text(text: str, message: type[R], source: str = "", limits: Limits | None = None) -> R: ...
def from_text(
    text: str, message: type[Record] = ModelProto, source: str = "", limits: Limits | None = None
) -> Record:
    """The `message` that `text` describes in ONNX textual syntax with the extensions of this package.

    What the text does not say is absent from the record; numbers of 32-bit float fields are rounded to 32 bits.
    `source` names the text in messages.
    Raises TextError, with line and column, and LimitError where the text goes past `limits.nesting` or has more than
    `limits.size` characters; the number of records needs no limit of its own, as each takes a character.
    """
    p = Lexer(text, source, limits)
    try:
        found = read(p, message)
    except RecursionError:
        what = "messages are nested deeper than Python's stack allows"
        raise LimitError(what, limit="sys.setrecursionlimit") from None
    if p.kind != "end":
        raise p.expected(f"the end of the text after the {message.__name__}")
    return found
