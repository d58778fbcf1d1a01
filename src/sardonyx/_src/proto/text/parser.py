"""Entry point of the parser: text in ONNX textual syntax to a record."""

from __future__ import annotations

from typing import TypeVar, overload

from sardonyx._src.errors import LimitError
from sardonyx._src.proto.messages import ModelProto
from sardonyx._src.proto.record import Record
from sardonyx._src.proto.text import parse_graphs  # noqa: F401  # registers the readers
from sardonyx._src.proto.text.lexer import Lexer
from sardonyx._src.proto.text.parse_records import read
from sardonyx._src.proto.wire import Limits

RecordT = TypeVar("RecordT", bound=Record)


@overload
def from_text(text: str, *, source: str = "", limits: Limits | None = None) -> ModelProto: ...
@overload
def from_text(
    text: str, message: type[RecordT], source: str = "", limits: Limits | None = None
) -> RecordT: ...
def from_text(
    text: str, message: type[Record] = ModelProto, source: str = "", limits: Limits | None = None
) -> Record:
    """The `message` that `text` describes in ONNX textual syntax with the extensions of this package.

    A field that the text does not mention is absent; numbers of 32-bit float fields are rounded to 32 bits.
    `source` names the text in error messages.
    Raises TextError, with line and column, for invalid syntax, and LimitError for a text with more than `limits.size`
    characters or deeper nesting than `limits.nesting`; `limits.size` also bounds the number of records.
    """
    lexer = Lexer(text, source, limits)
    try:
        record = read(lexer, message)
    except RecursionError:
        what = "messages are nested deeper than Python's stack allows"
        raise LimitError(what, limit="sys.setrecursionlimit") from None
    if lexer.kind != "end":
        raise lexer.expected_error(f"the end of the text after the {message.__name__}")
    return record
